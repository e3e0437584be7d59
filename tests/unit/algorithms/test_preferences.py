"""The rules of SelSkill's pairs: the winning side, and the number that is kept."""

import itertools

import pytest

from hone.algorithms.preferences import (
    Continuation,
    Verdict,
    agreed,
    balanced,
    degenerate,
    episode_pairs,
    repeats,
    verdict,
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
