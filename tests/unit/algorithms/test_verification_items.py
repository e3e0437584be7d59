"""Self-verify's item builder against its worked example, the oracle's sizes and its exact properties."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.method import Method
from hone.algorithms.self_verify import (
    GenerationGroup,
    ItemInputs,
    ItemParams,
    build_verification_items,
)
from tests.oracles import self_verify as oracle

BUILD: Method[Any, Any] = Method(build_verification_items, ItemParams)
SEEDS = range(20)


def group(id_, outcomes, valid=None):
    places = range(len(outcomes))
    return GenerationGroup(
        id_, f"Question {id_}?", [f"answer {id_}.{place}" for place in places], outcomes,
        [True] * len(outcomes) if valid is None else valid, [f"Thought {id_}.{place}." for place in places])


def bits(text):
    return [int(each) for each in text]


def built(groups, seed=0, **params):
    items, _, metrics = BUILD(ItemInputs(groups, Random(seed)), params, {})
    return items, metrics


def census(items):
    return Counter((item.label, item.source[0], item.rho) for item in items)


@pytest.mark.parametrize("seed", SEEDS)
def test_worked_example_1(seed):
    groups = [group(1, bits("1100")), group(2, bits("1111")), group(3, bits("0000")), group(4, bits("1000"))]
    assert census(built(groups, seed)[0]) == {
        ("Yes", 1, 0.5): 1, ("Yes", 4, 0.25): 1, ("No", 1, 0.5): 1, ("No", 4, 0.25): 1}


def test_worked_example_1_fills_from_the_pools():
    groups = [group(1, bits("1100")), group(2, bits("1111")), group(3, bits("0000")), group(4, bits("0000"))]
    found = [built(groups, seed) for seed in SEEDS]
    for items, metrics in found:
        assert Counter(item.label for item in items) == {"Yes": 2, "No": 2}
        assert {item.source for item in items if item.label == "No"} == {(1, 2), (1, 3)}
        assert metrics["duplicate_share"] == 0
    yes = {tuple(sorted(item.source[0] for item in items if item.label == "Yes")) for items, _ in found}
    assert yes == {(1, 1), (1, 2)}


def test_rho_counts_invalid_rollouts_and_they_are_never_judged():
    groups = [group(1, bits("1100"), [True, False, True, False]), group(2, bits("1000"))]
    for seed in SEEDS:
        items, _ = built(groups, seed)
        assert {item.source for item in items if item.source[0] == 1} <= {(1, 0), (1, 2)}
        assert {item.rho for item in items if item.source[0] == 1} <= {0.5}
    lone = built([group(1, bits("1000"), [True, True, False, False]), group(2, bits("11"))])[0]
    assert [item.rho for item in lone if item.label == "No"] == [0.25]


def test_outcomes_are_mixed_only_among_valid_responses():
    groups = [group(1, bits("10"), [True, False]), group(2, bits("10")), group(3, bits("11")), group(4, bits("11"))]
    for seed in SEEDS:
        assert [item.source for item in built(groups, seed)[0] if item.label == "No"] == [(2, 1)]


@pytest.mark.parametrize("groups", [
    [], [group(1, bits("10"))], [group(1, bits("10")), group(2, bits("10"), [False, False])],
    [group(1, bits("11")), group(2, bits("11"))], [group(1, bits("00")), group(2, bits("00"))],
])
def test_no_batch(groups):
    items, metrics = built(groups)
    assert items == []
    assert metrics == {"items": 0, "duplicate_share": 0, "mostly_duplicates": 0}


def test_labels_that_cannot_reach_half_are_cut_to_the_shorter():
    groups = [group(1, bits("1000")), *(group(id_, bits("0000")) for id_ in range(2, 7))]
    assert Counter(item.label for item in built(groups)[0]) == {"Yes": 1, "No": 1}


def test_duplicates_are_counted():
    groups = [group(1, bits("1100")), *(group(id_, bits("0000")) for id_ in range(2, 13))]
    items, metrics = built(groups)
    assert len(items) == 12
    assert metrics == {"items": 12, "duplicate_share": pytest.approx(8 / 12), "mostly_duplicates": 1}


def test_pools_are_used_up_before_anything_repeats():
    groups = [*(group(id_, bits("1100")) for id_ in (1, 2)), *(group(id_, bits("0000")) for id_ in range(3, 9))]
    for seed in SEEDS:
        items, metrics = built(groups, seed)
        assert len(items) == 8
        assert metrics["duplicate_share"] == 0
        assert set(Counter((item.label, item.source[0]) for item in items).values()) == {2}


def test_the_cut_does_not_prefer_early_prompts():
    groups = [group(id_, bits("10")) for id_ in range(4)]
    last = sum(item.source[0] == 3 for seed in range(100) for item in built(groups, seed)[0])
    assert 60 <= last <= 140


def test_labels_are_mixed():
    groups = [group(id_, bits("10")) for id_ in range(4)]
    assert {built(groups, seed)[0][0].label for seed in SEEDS} == {"Yes", "No"}


def test_property_8_the_prompt_shows_the_answer_and_not_the_reasoning():
    items, _ = built([group(1, bits("10")), group(2, bits("10"))])
    for item in items:
        name = "{}.{}".format(*item.source)
        assert f"answer {name}" in item.prompt
        assert f"Question {item.source[0]}?" in item.prompt
        assert "Thought" not in item.prompt
        assert r"\boxed{Yes}" in item.prompt
        assert r"\boxed{No}" in item.prompt


def test_mode_response_shows_the_whole_text():
    for item in built([group(1, bits("10")), group(2, bits("10"))], judged="response")[0]:
        assert "Thought {}.{}.".format(*item.source) in item.prompt


def test_the_questions_instruction_is_taken_off():
    question = "How many {x}? Please reason step by step, and put your final answer within \\boxed{}.\n"
    groups = [GenerationGroup(id_, question, ["{1}", "2"], [1, 0], [True, True]) for id_ in (1, 2)]
    for item in built(groups)[0]:
        assert "How many {x}?\n" in item.prompt
        assert "step by step" not in item.prompt


def test_a_template_is_filled_once():
    groups = [GenerationGroup(id_, "is {judged}", ["{question}", "2"], [1, 0], [True, True]) for id_ in (1, 2)]
    prompts = {item.prompt for item in built(groups, template="{question}|{judged}|{other}")[0]}
    assert prompts == {"is {judged}|{question}|{other}", "is {judged}|2|{other}"}


def test_lists_of_different_length_are_refused():
    with pytest.raises(ValueError, match="zip"):
        built([GenerationGroup(id_, "", ["a"], [1, 0], [True]) for id_ in (1, 2)])


@st.composite
def batches(draw):
    sizes = draw(st.lists(st.integers(1, 6), max_size=9))
    return [(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)),
             draw(st.lists(st.sampled_from([True, True, False]), min_size=size, max_size=size))) for size in sizes]


@given(batches(), st.integers(0, 2**16))
@settings(max_examples=150, deadline=None)
def test_properties_1_to_3(batch, seed):
    groups = [group(id_, *rollouts) for id_, rollouts in enumerate(batch)]
    items, _ = built(groups, seed)
    assert Counter(item.label for item in items) == Counter(
        {label: oracle.batch_size(batch) for label in ("Yes", "No") if oracle.batch_size(batch)})
    for item in items:
        outcomes, valid = batch[item.source[0]]
        assert valid[item.source[1]]
        assert any(right and there for right, there in zip(outcomes, valid, strict=True))
        assert (item.label == "Yes") == (outcomes[item.source[1]] == 1)
        assert item.rho == pytest.approx(oracle.pass_rate(outcomes))
    assert built(groups, seed)[0] == items
