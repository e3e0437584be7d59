"""TopoCurate against the worked numbers of topocurate.md and its invariances."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.topocurate.curation import CurationParams, TaskScore, probabilities, task, trajectories
from hone.algorithms.topocurate.graph import START, Graph
from hone.algorithms.topocurate.turns import MOST_TURNS, Rollout, Thresholds, Turn, canonical, classes

EXACT, PLAIN = Thresholds(), CurationParams(smoothing=0)


def rollout(letters: str, success: bool) -> Rollout:
    return Rollout([Turn(f"tool_{letter}", {"of": letter}, True, f"result of {letter}") for letter in letters], success)


def graph(*paths: tuple[str, int], smoothing: float = 0) -> Graph:
    return Graph.of([rollout(letters, bool(success)) for letters, success in paths], EXACT, smoothing)


RECOVERING = (("ABC", 1), ("ABFHC", 1), ("ABF", 0), ("ABF", 0), ("ADC", 1))


def rounded(found: Graph, params: CurationParams = PLAIN) -> list[tuple[float, ...]]:
    return [(round(one.reflection, 4), round(one.efficiency, 4), round(one.diversity, 4), round(one.weight, 4))
            for one in trajectories(found, params) if one is not None]


def test_1_potentials_metrics_and_weights() -> None:
    found = graph(*RECOVERING)
    names = {"A": 0, "B": 1, "C": 2, "F": 3, "H": 4, "D": 5}
    assert [round(found.potential(names[name]), 4) for name in "ABFCDH"] == [0.6, 0.5, 0.3333, 1, 1, 1]
    assert found.potential(START) == pytest.approx(0.6)
    assert rounded(found) == [(0, 1, 0.5493, 0.3333), (0.6667, 0.6667, 0.5493, 0.3333), (0, 1, 1.0986, 0.6667)]
    scored = task(found, PLAIN)
    assert (scored.error_branches, scored.heterogeneity) == pytest.approx((1 / 6, 0.8))
    assert scored.score == pytest.approx(0.9667, abs=5e-5)


def test_1_with_smoothing_the_fall_is_too_small() -> None:
    found = graph(*RECOVERING, smoothing=1)
    assert (found.potential(1), found.potential(3)) == pytest.approx((0.52, 0.4))
    assert [(one[0], one[3]) for one in rounded(found)] == [(0, 0.3333), (0, 0), (0, 0.6667)]


def test_2_a_coin_flip_at_the_end_of_one_chain_is_no_choice() -> None:
    scored = task(graph(("ABC", 1), ("ABC", 0), ("ABC", 1), ("ABC", 0)), PLAIN)
    assert (scored.error_branches, scored.heterogeneity, scored.pass_rate, scored.few) == (0, 0.25, 0.5, False)


def test_3_a_loop_back_is_no_setback() -> None:
    found = graph(("ABABC", 1), ("ABC", 1), ("AD", 0))
    assert [(one[0], one[1], one[2]) for one in rounded(found)] == [(0, 0.6667, 0.7520), (0, 1, 0.4055)]
    scored = task(found, PLAIN)
    assert (scored.error_branches, scored.heterogeneity, scored.few) == (0.25, 1, True)


def test_4_probabilities_of_tasks() -> None:
    tasks = [TaskScore(8, 0.5, 0, 0, score, few=False) for score in (0.9667, 0.25, 1.25)]
    np.testing.assert_allclose(probabilities(tasks, PLAIN), [0.3332, 0.0795, 0.5873], atol=5e-5)
    solved = replace(tasks[0], pass_rate=1.0)
    assert probabilities([solved, tasks[1]], PLAIN) == [0, 1]
    assert probabilities([solved], PLAIN) == [0]
    assert probabilities([], PLAIN) == []


def test_6_equal_successes_teach_nothing_of_their_structure() -> None:
    found = graph(*[("AB", 1)] * 5)
    assert rounded(found) == [(0, 1, 0, 0)] * 5
    assert [one.selected for one in trajectories(found, PLAIN) if one] == [True, True, False, False, False]
    assert (task(found, PLAIN).error_branches, task(found, PLAIN).score) == (0, 0)


def test_few_rollouts_are_judged_by_their_pass_rate() -> None:
    found = graph(("AB", 1), ("AC", 0))
    assert (task(found, PLAIN).score, task(found, PLAIN).few) == (1.0, True)
    assert trajectories(found, PLAIN)[1] is None
    assert graph(("AB", 0)).shortest == 0
    assert trajectories(graph(("AB", 0), ("", 0)), PLAIN) == [None, None]


@given(st.lists(st.tuples(st.text("ABCD", max_size=6), st.booleans()), min_size=4, max_size=7), st.randoms())
@settings(max_examples=80, deadline=None)
def test_5_neither_order_nor_names_matter(paths: list[tuple[str, bool]], random: Any) -> None:
    moved = random.sample(paths, len(paths))
    renamed = [(letters.translate(str.maketrans("ABCD", "WXYZ")), success) for letters, success in paths]
    one, other, third = (graph(*each) for each in (paths, moved, renamed))
    assert task(one, PLAIN) == task(third, PLAIN)
    assert task(one, PLAIN).score == pytest.approx(task(other, PLAIN).score)
    key = sorted(zip(paths, map(repr, rounded_all(one)), strict=True), key=repr)
    assert key == sorted(zip(moved, map(repr, rounded_all(other)), strict=True), key=repr)
    for found in (one, other):
        assert all(0 < scored.efficiency <= 1 for scored in trajectories(found, PLAIN) if scored)


def rounded_all(found: Graph) -> list[Any]:
    return [scored and (round(scored.reflection, 9), round(scored.efficiency, 9), round(scored.diversity, 9))
            for scored in trajectories(found, PLAIN)]


def turn(**changes: Any) -> Turn:
    return Turn(**{"tool": "search", "arguments": {"query": "Berlin hotel", "nights": 2}, "ok": True,
                   "observation": "Found 12 hotels in Berlin, the cheapest at 80 euros a night.", **changes})


def alike(one: Turn, other: Turn, **thresholds: float) -> bool:
    first, second = classes([Rollout([one], True), Rollout([other], False)], Thresholds(**thresholds))
    return first == second


@pytest.mark.parametrize(("changes", "same"), [
    ({"arguments": {"nights": "2.0", "QUERY": " berlin  HOTEL"}}, True),
    ({"arguments": {"query": "Berlin hotel", "nights": 3}}, False),
    ({"observation": "Found 13 hotels in Berlin, the cheapest at 80 euros a night."}, True),
    ({"observation": "Nothing was found."}, False), ({"ok": False}, False), ({"tool": "book"}, False)])
def test_turns_are_equivalent_by_what_they_do(changes: dict[str, Any], same: bool) -> None:
    assert alike(turn(), turn(**changes)) == same


def test_5_the_ends_of_the_thresholds() -> None:
    other = turn(observation="Found 13 hotels in Berlin, the cheapest at 80 euros a night.")
    assert not alike(turn(), other, arguments=1.0, observations=1.0)
    assert alike(turn(), turn(), arguments=1.0, observations=1.0)
    assert alike(turn(), turn(arguments={}, observation="no"), arguments=0.0, observations=0.0)


def test_texts_and_dates_are_compared_in_one_form() -> None:
    assert canonical({"B": [1, "2"], "a": "2026/3/1"}) == {"a": "2026-03-01", "b": [1.0, 2.0]}
    assert (canonical(True), canonical(None), canonical("nan")) == (True, None, "nan")
    assert alike(turn(arguments="the answer is forty-two"), turn(arguments="The answer is  forty-two"))
    assert not alike(turn(arguments="the answer is forty-two"), turn(arguments="something else entirely"))
    assert alike(turn(arguments={}, observation=""), turn(arguments={}, observation=" "))


def test_similar_turns_link_others_and_very_long_rollouts_are_cut() -> None:
    texts = [f"the list has {'item ' * 20}{number}" for number in ("one", "one two", "one two three")]
    found = classes([Rollout([turn(observation=text)], True) for text in texts], Thresholds(observations=0.93))
    assert found == [[0], [0], [0]]
    long = classes([Rollout([turn()] * (MOST_TURNS + 5), True)], Thresholds())
    assert len(long[0]) == MOST_TURNS
