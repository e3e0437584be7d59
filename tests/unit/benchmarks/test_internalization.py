"""SIRI's test of skills and its internalization loss, against worked numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.methods.internalization import (
    InternalizationParams,
    SkillTestParams,
    Utility,
    accepted,
    best,
    coefficient,
    guided_episodes,
    internalization,
    omega,
    utility,
)

PARAMS = InternalizationParams()


def floats(*values):
    return np.array(values, np.float64)


def of_differences(*d):
    return utility(floats(*d), np.zeros(len(d)))


def test_worked_example_2():
    found = of_differences(1, 1, 1, 1, -1, 0, 0, 0)
    assert found.mean == 0.375
    assert found.se * math.sqrt(8) == pytest.approx(0.7440, abs=5e-5)
    assert found.se == pytest.approx(0.2631, abs=5e-5)
    assert found.mean - found.se == pytest.approx(0.1119, abs=1e-4)
    assert found.mean - 1.645 * found.se == pytest.approx(-0.0577, abs=1e-4)
    assert accepted(found, SkillTestParams(c_se=1))
    assert not accepted(found, SkillTestParams(c_se=1.645))


def loss(track, logp):
    return -(track.advantage * logp).sum() / max(1, track.counts.sum()) * track.weight


@pytest.mark.parametrize(("weight", "expected"), [(1.0, 0.7400), (0.375, 0.2775)])
def test_worked_example_3(weight, expected):
    logp, advantage = floats(-2, -0.5, -1, -0.7, -0.3, -0.2), np.repeat([1.2, -0.3, 0.4], [2, 1, 3])
    track = internalization(floats(weight), advantage, np.array([6]), 1.0, PARAMS)
    assert loss(track, logp) == pytest.approx(expected)
    assert track.counts.tolist() == [True, True, False, True, True, True]
    assert track.advantage[2] == 0
    assert track.loss == "reinforce"


def test_property_3_everything_absorbed_is_supervised_fine_tuning():
    logp = floats(-1, -2, -0.5)
    track = internalization(floats(1, 1), np.ones(3), np.array([2, 1]), 1.0, PARAMS)
    assert loss(track, logp) == pytest.approx(-logp.mean())


def test_the_action_weight_can_be_the_advantage_over_the_same_tokens():
    advantage = floats(2.0, -1.0, 0.5)
    track = internalization(floats(0.5), advantage, np.array([3]), 0.3, InternalizationParams(action_weight="adv"))
    assert track.advantage.tolist() == [1.0, 0.0, 0.25]
    assert track.counts.tolist() == [True, False, True]
    assert track.weight == 0.3


def test_outside_of_e_plus_no_token_counts():
    track = internalization(floats(0, 0.5), np.ones(4), np.array([3, 1]), 1.0, PARAMS)
    assert track.counts.tolist() == [False, False, False, True]
    empty = internalization(floats(0, 0), np.ones(4), np.array([3, 1]), 1.0, PARAMS)
    assert not empty.counts.any()
    assert (empty.advantage == 0).all()


def test_omega_is_what_the_skill_adds_to_a_success():
    reward = floats(1, 0, 1, 0, 1, 1, 1, 0.9, 0)
    task = np.array([0, 0, 0, 0, 1, 2, 2, 3, 3])
    guided = np.array([False, False, True, True, True, False, True, True, False])
    assert omega(reward, task, guided, PARAMS).tolist() == [0, 0, 0.5, 0, 0, 0, 0, 0, 0]


def test_omega_needs_more_than_the_smallest_utility():
    reward, task, guided = floats(0, 1, 1), np.zeros(3, np.int64), np.array([False, False, True])
    assert omega(reward, task, guided, InternalizationParams(u_min=0.4)).tolist() == [0, 0, 0.5]
    assert omega(reward, task, guided, InternalizationParams(u_min=0.5)).tolist() == [0, 0, 0]


def test_omega_is_at_most_one():
    reward, task, guided = floats(-1, 1), np.zeros(2, np.int64), np.array([False, True])
    assert omega(reward, task, guided, PARAMS).tolist() == [0, 1]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_property_5_swapping_with_and_without_flips_the_utility(pairs):
    skill, plain = (np.array(each) for each in zip(*pairs, strict=True))
    found, swapped = utility(skill, plain), utility(plain, skill)
    assert found.mean == pytest.approx(-swapped.mean)
    assert found.se == pytest.approx(swapped.se)
    d = [a - b for a, b in pairs]
    mean = sum(d) / len(d)
    assert found.mean == pytest.approx(mean, abs=1e-12)
    if len(d) > 1:
        variance = sum((each - mean) ** 2 for each in d) / (len(d) - 1)
        assert found.se == pytest.approx(math.sqrt(variance / len(d)), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("found", "expected"), [
    (Utility(0.05, 0.0, 8), True), (Utility(0.04, 0.0, 8), False), (Utility(0.5, 0.0, 3), False),
    (Utility(0.1, 0.2, 31), True), (Utility(0.1, 0.2, 32), False), (Utility(0.3, 0.2, 32), True),
])
def test_acceptance(found, expected):
    assert accepted(found, SkillTestParams()) == expected


def test_equal_differences_have_no_error():
    assert of_differences(0.25, 0.25, 0.25, 0.25) == Utility(0.25, 0.0, 4)
    with pytest.raises(ValueError, match="task"):
        of_differences()


def test_a_cluster_keeps_its_best():
    skills = {5: Utility(0.3, 0.2, 8), 2: Utility(0.3, 0.1, 8), 7: Utility(0.9, 0.1, 2), 1: Utility(0.3, 0.2, 8),
              9: Utility(0.4, 0.3, 8)}
    assert best(skills, SkillTestParams(most=3)) == [9, 2, 1]
    assert best({}, SkillTestParams()) == []


@pytest.mark.parametrize(("finished", "expected"), [(0, 0.5), (20, 0.5), (25, 0.3), (30, 0.1)])
def test_the_coefficient_falls_over_the_last_third(finished, expected):
    assert coefficient(finished, 30, PARAMS) == pytest.approx(expected)


@pytest.mark.parametrize(("share", "size", "expected"), [(0.5, 8, 4), (0.5, 5, 3), (0.5, 1, 1), (0.0, 8, 0)])
def test_guided_episodes_round_halves_up(share, size, expected):
    assert guided_episodes(share, size) == expected
