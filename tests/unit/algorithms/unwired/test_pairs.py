"""SelSkill's pairs: their construction, the winning side, and the number that is kept."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.unwired.pairs import (
    Candidate,
    Continuation,
    Verdict,
    agreed,
    balanced,
    branches,
    degenerate,
    episode_pairs,
    repeats,
    turn_entropy,
    verdict,
    window,
)

SWAPPED = {"invoke": "skip", "skip": "invoke", "discard": "discard"}


@pytest.mark.parametrize(("invoke", "skip", "expected"), [
    ((True, 9), (False, 1), "invoke"), ((False, 1), (True, 9), "skip"), ((True, 3), (True, 4), "invoke"),
    ((True, 5), (True, 4), "skip"), ((True, 4), (True, 4), "discard"), ((False, 1), (False, 9), "discard"),
])
def test_verdicts(invoke, skip, expected):
    assert verdict(Continuation(*invoke), Continuation(*skip)) == expected


def test_property_6_the_verdict_is_antisymmetric():
    ends = [Continuation(success, steps) for success in (True, False) for steps in (1, 2, 3)]
    for one, other in itertools.product(ends, ends):
        assert verdict(one, other) == SWAPPED[verdict(other, one)]


@pytest.mark.parametrize(("verdicts", "expected"), [
    (["skip"], "skip"), (["invoke", "invoke"], "invoke"), (["invoke", "skip"], "discard"),
    (["invoke", "discard"], "discard"), ([], "discard"),
])
def test_repeats_of_a_branch_must_agree(verdicts, expected):
    assert agreed(verdicts) == expected


@pytest.mark.parametrize(("episodes", "limit", "expected"), [
    ([(True, 9), (False, 5), (True, 4), (False, 2), (True, 4)], 2, [(2, 1), (4, 3)]),
    ([(True, 9), (False, 5), (True, 4)], 2, [(2, 1)]),
    ([(True, 9), (False, 5), (True, 4), (False, 2)], 1, [(2, 1)]),
    ([(False, 1), (False, 2)], 2, []), ([(True, 1), (True, 2)], 2, []), ([], 2, []),
])
def test_episode_pairs_take_the_shortest_successes(episodes, limit, expected):
    assert episode_pairs([Continuation(*each) for each in episodes], limit) == expected


def test_worked_example_3_entropy_ranking():
    entropies = [turn_entropy(np.log([[p, 1 - p]])) for p in (0.5, 0.7, 0.9, 0.97)]
    np.testing.assert_allclose(entropies, [0.6931, 0.6109, 0.3251, 0.1347], atol=5.1e-5)
    candidates = [Candidate(episode, 0, h, episode % 2 == 0) for episode, h in enumerate(entropies)]
    assert [each.episode for each in branches(reversed(candidates), most=2)] == [0, 1]


def test_turn_entropy_merges_the_other_ids_and_averages_over_tokens():
    rest = -(0.5 * math.log(0.5) + 0.2 * math.log(0.2) + 0.3 * math.log(0.3))
    assert turn_entropy(np.log([[0.5, 0.2]])) == pytest.approx(rest)
    with np.errstate(divide="ignore"):
        assert turn_entropy(np.log([[0.5, 0.2], [1.0, 0.0]])) == pytest.approx(rest / 2)
    assert turn_entropy(np.zeros((0, 4))) == 0.0


def test_ties_go_to_the_lower_episode_and_the_lower_turn():
    candidates = [Candidate(1, 0, 0.5, True), Candidate(0, 9, 0.5, True), Candidate(0, 2, 0.5, True)]
    assert [(each.episode, each.turn) for each in branches(candidates)] == [(0, 2), (0, 9), (1, 0)]


def test_branches_of_an_episode_are_three_turns_apart():
    candidates = [Candidate(0, 4, 0.9, True), Candidate(0, 6, 0.8, False), Candidate(0, 1, 0.7, False),
                  Candidate(1, 5, 0.6, False)]
    assert [(each.episode, each.turn) for each in branches(candidates)] == [(0, 4), (0, 1), (1, 5)]


def test_the_second_pass_fills_up_with_any_kind():
    candidates = [Candidate(episode, 0, 1.0 - episode / 10, True) for episode in range(5)]
    candidates.append(Candidate(9, 0, 0.1, False))
    assert [each.episode for each in branches(candidates, most=4)] == [0, 1, 9, 2]
    assert [each.episode for each in branches(candidates, most=3)] == [0, 9, 1]


@given(st.lists(st.builds(Candidate, st.integers(0, 2), st.integers(0, 12), st.sampled_from([0.1, 0.2, 0.3]),
                          st.booleans()), max_size=14), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_branches_keep_every_rule(candidates, most):
    chosen = branches(candidates, most)
    assert len(chosen) <= most
    for one, other in itertools.combinations(chosen, 2):
        assert one.episode != other.episode or abs(one.turn - other.turn) >= 3
    if len(chosen) < most:
        assert all(any(each.episode == other.episode and abs(each.turn - other.turn) < 3 for other in chosen)
                   for each in candidates)


def test_the_window_is_three_turns_from_the_branch():
    turn = np.array([0, 0, 1, 2, 2, 3, 4, 5])
    assert np.flatnonzero(window(turn, 2)).tolist() == [3, 4, 5, 6]


def test_property_3_a_window_from_the_first_turn_over_a_short_episode_is_all_of_it():
    assert window(np.array([0, 0, 1, 2]), 0).all()


@pytest.mark.parametrize(("winner", "loser", "expected"), [
    ([1, 2], [1, 2], True), ([1, 2], [1, 3], False), ([], [1], True), ([1], [], True),
])
def test_degenerate_pairs(winner, loser, expected):
    assert degenerate(winner, loser) == expected


@pytest.mark.parametrize(("invoke", "skip", "kept"), [
    (10, 3, (7, 3)), (3, 10, (3, 7)), (7, 3, (7, 3)), (5, 5, (5, 5)), (9, 1, (2, 1)), (4, 0, (0, 0)), (0, 0, (0, 0)),
])
def test_neither_verdict_has_more_than_seven_tenths(invoke, skip, kept):
    kinds: tuple[Verdict, ...] = ("invoke", "discard", "skip")
    verdicts = [kind for kind, count in zip(kinds, (invoke, 2, skip), strict=True) for _ in range(count)]
    places = balanced(verdicts, seed=1)
    assert places == sorted(set(places))
    assert (sum(verdicts[place] == "invoke" for place in places),
            sum(verdicts[place] == "skip" for place in places)) == kept
    assert len(places) == sum(kept)
    assert balanced(verdicts, seed=1) == places


@pytest.mark.parametrize(("episode", "step", "expected"), [
    (90, 10, 1), (91, 10, 2), (180, 10, 2), (100, 1, 12), (0, 5, 1), (5, 0, 1), (9, 1, 1),
])
def test_few_step_pairs_are_repeated(episode, step, expected):
    assert repeats(episode, step) == expected
