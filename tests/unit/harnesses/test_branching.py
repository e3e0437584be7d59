"""Which turns of a task's episodes are branched."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.harnesses.branching import Candidate, branches


def test_worked_example_3_entropy_ranking():
    p = np.array([0.5, 0.7, 0.9, 0.97])
    entropies = (-p * np.log(p) - (1 - p) * np.log(1 - p)).tolist()
    np.testing.assert_allclose(entropies, [0.6931, 0.6109, 0.3251, 0.1347], atol=5.1e-5)
    candidates = [Candidate(episode, 0, h, episode % 2 == 0) for episode, h in enumerate(entropies)]
    assert [each.episode for each in branches(reversed(candidates), most=2)] == [0, 1]


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
