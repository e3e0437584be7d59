"""The pool's operations, selection, rows and the round gate against worked examples and exact properties."""

import copy
import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.methods.experience_pool import (
    LeakParams,
    Operation,
    PoolInputs,
    PoolParams,
    Reply,
    RoundParams,
    RoundScores,
    Selection,
    SelectionParams,
    applied,
    build_row,
    injected,
    leaks,
    round_gate,
    select,
    update_pool,
    usable,
)
from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import AGGREGATIONS, LOSSES
from hone.algorithms.filters.contrast import contrast
from hone.algorithms.inputs import FilterInputs, LossInputs
from hone.algorithms.method import Method

POOL = {"G0": "a", "G1": "b", "G2": "c"}
UPDATE: Method[Any, Any] = Method(update_pool, PoolParams)
CONTRAST: Method[Any, Any] = Method(contrast)
GATE: Method[Any, Any] = Method(round_gate, RoundParams)


def add(text):
    return Operation("ADD", None, text)


def change(id_, text):
    return Operation("UPDATE", id_, text)


def delete(id_):
    return Operation("DELETE", id_)


def updated(operations, consolidations=(), pool=POOL, **params):
    return UPDATE(PoolInputs(pool, operations, consolidations), params, {})[0]


RECONCILED = [change("G1", "b12"), delete("G2"), add("d"), change("G9", "e")]


def test_worked_example_2():
    assert applied(POOL, RECONCILED) == ["a", "b12", "d", "e"]
    assert updated(RECONCILED, [["ab12", "d", "e"]], pool_max=3) == {"G0": "ab12", "G1": "d", "G2": "e"}
    assert updated(RECONCILED, pool_max=3) == {"G0": "a", "G1": "b12", "G2": "d"}
    assert updated(RECONCILED, pool_max=4) == {"G0": "a", "G1": "b12", "G2": "d", "G3": "e"}


@pytest.mark.parametrize(("operations", "texts"), [
    ([], "abc"), ([Operation("NONE"), Operation("NONE", "G1", "z")], "abc"),
    ([change("G1", "x"), delete("G1")], "ac"), ([delete("G1"), change("G1", "x")], "ac"),
    ([change("G9", "x")], "abcx"), ([change(None, "x")], "abcx"), ([delete("G9")], "abc"), ([delete(None)], "abc"),
    ([change("G0", "x"), change("G0", "y")], "ybc"), ([change("G0", "x"), change("G0", " ")], "xbc"),
    ([add(""), add(" "), add(None), add(3), change("G0", ""), change("G0", ["x"]), change("G9", None)], "abc"),
    ([change("G8", "x"), add("y"), change("G8", "z"), delete("G0")], "bcxyz"),
    ([delete("G0"), delete("G1"), delete("G2")], ""),
])
def test_operations_in_the_order_of_the_specification(operations, texts):
    assert applied(POOL, operations) == [*texts]


def test_consolidation_takes_the_first_usable_answer_of_three():
    bad, good = [None, "text", [], ["p", ""], ["p", 3], ["p", "q", "r", "s"]], ["p", "q"]
    for answer in bad:
        assert list(updated(RECONCILED, [answer, good], pool_max=3).values()) == good
    assert list(updated(RECONCILED, [None, None, None, good], pool_max=3).values()) == ["a", "b12", "d"]


def test_the_consolidator_is_asked_only_when_and_as_often_as_needed():
    asked = []

    def answers():
        for answer in (None, ["p"], ["q"]):
            asked.append(answer)
            yield answer

    updated([], answers(), pool_max=3)
    assert asked == []
    assert updated([add("d")], answers(), pool_max=3) == {"G0": "p"}
    assert asked == [None, ["p"]]


def test_pool_metrics():
    metrics = UPDATE(PoolInputs(POOL, RECONCILED), {"pool_max": 3}, {})[2]
    assert metrics == {"items": 3, "items_over_limit": 1}
    assert UPDATE(PoolInputs(POOL, []), {}, {})[2] == {"items": 3, "items_over_limit": 0}


operations = st.lists(st.builds(
    Operation, st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE"]),
    st.sampled_from([None, "G0", "G1", "G2", "G3", "G9"]), st.sampled_from(["x", "y", "", None, 3])), max_size=8)


@given(st.integers(0, 5), operations, st.integers(1, 6), st.lists(st.sampled_from([None, ["p"], ["p"] * 6])))
@settings(max_examples=100, deadline=None)
def test_property_5(size, proposed, most, answers):
    pool = {f"G{place}": f"item {place}" for place in range(size)}
    before = dict(pool)
    final = updated(proposed, answers, pool, pool_max=most)
    assert pool == before
    assert len(final) <= most
    assert list(final) == [f"G{place}" for place in range(len(final))]
    assert all(isinstance(text, str) and text for text in final.values())
    assert updated([Operation("NONE")], answers, final, pool_max=most) == final
    deleted = {operation.id for operation in proposed if operation.kind == "DELETE"}
    assert not {pool[id_] for id_ in deleted & pool.keys()} & set(final.values())


@pytest.mark.parametrize(("rewards", "kept"), [
    ([0, 1], True), ([1, 0, 0, 0, 0], True), ([0.0] * 5, False), ([1.0] * 5, False), ([1], False), ([], False),
    ([0.5, 0.5], True), ([1, None, 0], True), ([1, None], False), ([None], False),
])
def test_property_6_tasks_with_contrast_only(rewards, kept):
    assert CONTRAST(FilterInputs([[0, 1], rewards]), {}, {})[::2] == ([True, kept], {"filtered_groups": 1 - kept})


ITEMS = {f"G{place}": f"advice {place}" for place in range(12)}
GENERAL = {"F0": "think first"}


def chosen(*answers, **params):
    return select(ITEMS, answers, GENERAL, SelectionParams(**params))


@pytest.mark.parametrize(("answer", "ids"), [
    (["G3", "G1", "G2"], ["G3", "G1", "G2"]), (["G3", "G3", "G1"], ["G3", "G1"]), (["G1"], ["G1"]),
    (["G99", "g1", "G1", 3, None, ["G2"]], ["G1"]), ([f"G{place}" for place in range(12)], [f"G{p}" for p in range(8)]),
    (["x", "G0", "G0", *(f"G{place}" for place in range(1, 10))], [f"G{place}" for place in range(8)]),
])
def test_selected_ids_are_known_new_and_at_most_eight(answer, ids):
    selection = chosen(answer)
    assert list(selection.items) == ids
    assert selection.items.items() <= ITEMS.items()
    assert not selection.fallback


@pytest.mark.parametrize("answers", [[], [None], [{}], ["G1"], [[]], [["G99"], []], [[]] * 5 + [["G1"]]])
def test_no_valid_id_falls_back(answers):
    assert chosen(*answers) == Selection(GENERAL, fallback=True)


def test_the_selector_has_five_tries():
    assert list(chosen(None, [], ["?"], {}, ["G4"]).items) == ["G4"]
    assert chosen([], ["G4"], tries=1).fallback


@given(st.lists(st.lists(st.sampled_from([*ITEMS, "G12", "", 0, None]), max_size=12), max_size=6))
def test_property_4_selected_ids_are_a_subset_of_the_pool(answers):
    selection = chosen(*answers)
    if selection.fallback:
        assert all(not set(answer) & ITEMS.keys() for answer in answers[:5])
    else:
        assert 0 < len(selection.items) <= 8
        assert selection.items.keys() <= ITEMS.keys()


@pytest.mark.parametrize(("fallbacks", "turns", "kept"), [
    (0, 3, True), (1, 5, True), (2, 10, True), (1, 4, False), (3, 10, False), (0, 0, True),
])
def test_more_than_a_fifth_of_fallback_turns_is_too_much(fallbacks, turns, kept):
    selections = [Selection(GENERAL, fallback=place < fallbacks) for place in range(turns)]
    assert usable(selections, SelectionParams()) is kept


DIALOGUE = [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who wrote it?"},
    {"role": "assistant", "content": "search"}, {"role": "tool", "content": "Found."},
    {"role": "assistant", "content": "So"},
]
LESSON = {"G7": "When a search returns nothing useful, rephrase the query with other names first."}


def test_property_7_injection_leaves_the_stored_dialogue_alone():
    stored = copy.deepcopy(DIALOGUE)
    before = json.dumps(stored)
    shown = injected(stored, LESSON)
    assert json.dumps(stored) == before
    assert [place for place in range(5) if shown[place] != stored[place]] == [3]
    assert shown[3]["content"].startswith("Found.")
    assert f"[G7] {LESSON['G7']}" in shown[3]["content"]
    assert injected(stored, {}) == stored


def test_injection_needs_somebody_to_tell():
    with pytest.raises(ValueError, match="messages: found no user or tool message"):
        injected(DIALOGUE[:1], LESSON)


@pytest.mark.parametrize(("text", "found"), [
    ("as [G7] says", True), ("the G7 summit", False), ("[G70] and G7", False),
    ("I recall: when a search returns nothing useful rephrase the query, then", True),
    ("When a search returns nothing useful, rephrase the page", False),
    ("when a search returns nothing useful rephrase the", False),
    ("returns NOTHING useful: rephrase the query -- with other names", True),
    ("", False), ("Found.", False),
])
def test_leaks(text, found):
    assert leaks(text, LESSON, LeakParams()) is found


def test_a_short_item_leaks_when_it_is_said_whole():
    assert leaks("So: check the date!", {"G0": "Check the date."}, LeakParams())
    for other in ("So: check the day!", "Recheck the date.", "Check the dates."):
        assert not leaks(other, {"G0": "Check the date."}, LeakParams())
    assert not leaks("anything", {"G0": "..."}, LeakParams())


def test_property_3_a_row_of_the_clean_dialogue_holds_no_text_of_the_pool():
    def text(messages):
        return "\n".join(message["content"] for message in messages)

    assert leaks(text(injected(DIALOGUE, LESSON)), LESSON, LeakParams())
    assert not leaks(text(DIALOGUE), LESSON, LeakParams())


def test_worked_example_3():
    row = build_row([Reply([7], [11, 12]), Reply([8], [13])])
    assert row.tokens == [7, 11, 12, 8, 13]
    assert row.mask == [False, True, True, False, True]
    logp = torch.tensor([-9.0, -0.2, -1.1, -9.0, -0.4], dtype=torch.float64)[torch.tensor(row.mask)]
    losses = LOSSES["mle"](LossInputs(logp, logp, torch.ones_like(logp)), {}, {})[0].numpy()
    weights = AGGREGATIONS["token-mean"](AggregationInputs(torch.tensor([sum(row.mask)]).numpy(), 8), {}, {})[0]
    assert weights[0] * losses.sum() == pytest.approx(0.5667, abs=5e-5)


@given(st.lists(st.tuples(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))))
def test_a_row_trains_the_replies_and_nothing_else(parts):
    row = build_row([Reply(context, completion) for context, completion in parts])
    assert row.tokens == [token for context, completion in parts for token in context + completion]
    assert [token for token, trained in zip(row.tokens, row.mask, strict=True) if trained] == [
        token for _, completion in parts for token in completion]


@pytest.mark.parametrize(("previous", "score", "tasks", "accepted"), [
    (0.5, 0.6, 100, True), (0.5, 0.5, 100, True), (0.5, 0.451, 100, True), (0.5, 0.449, 100, False),
    (0.2, 0.161, 100, True), (0.2, 0.159, 100, False), (1.0, 0.99, 100, False), (0.0, 0.0, 100, True),
])
def test_a_round_may_lose_one_standard_error(previous, score, tasks, accepted):
    found, _, metrics = GATE(RoundScores(previous, score, tasks), {}, {})
    assert found is accepted
    assert metrics["drop"] == pytest.approx(previous - score)
    assert metrics["standard_error"] == pytest.approx((previous * (1 - previous) / tasks) ** 0.5)


def test_the_gate_can_be_wider():
    given = RoundScores(0.5, 0.42, 100)
    assert GATE(given, {"standard_errors": 2.0}, {})[0]
    assert not round_gate(given, RoundParams(), {})[0]
