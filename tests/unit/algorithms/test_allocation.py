"""Allocations: DynaMO's against the numbers of dynamo.md, and the properties of every allocation."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.allocation.dynamo import (
    SuccessHistory,
    SuccessVarianceParams,
    allocated,
    by_variance,
    dynamo,
    priorities,
)
from hone.algorithms.allocation.inputs import AllocationInputs, GroupOutcomes


def weighed(pairs, **params):
    successes, samples = np.array(pairs, np.float64).T
    return priorities(successes, samples, SuccessVarianceParams(**params))


def shared(pairs, budget, **params):
    successes, samples = np.array(pairs, np.float64).T
    return dynamo(SuccessHistory(successes, samples, budget), SuccessVarianceParams(**params), {})[0]


def test_1_the_outcomes_variance():
    found = weighed([(0, 8), (1, 8), (4, 8), (6, 8), (2, 4)], power=1, min_priority=0)
    np.testing.assert_allclose(found, [0, 0.125, 0.285714, 0.214286, 0.333333], atol=5e-7)


@pytest.mark.parametrize("chance", [0.1, 0.37, 0.5])
def test_1_it_is_unbiased(chance):
    found = weighed([(k, 5) for k in range(6)], power=1, min_priority=0)
    chances = [comb(5, k) * chance**k * (1 - chance) ** (5 - k) for k in range(6)]
    assert found @ chances == pytest.approx(chance * (1 - chance))


@pytest.mark.parametrize(("power", "expected"), [(1, [14, 23, 19, 8]), (0.5, [16, 21, 19, 8])])
def test_2_sixty_four_rollouts_for_four_prompts(power, expected):
    assert shared([(1, 8), (4, 8), (6, 8), (0, 8)], 64, power=power, min_priority=0) == expected


def test_3_shares_by_deviation_come_near_the_optimum():
    sigma = np.array([0.5, 0.1])
    given_out = allocated(sigma, np.full(2, 8.0), 12, SuccessVarianceParams(n_min=1, n_max=12))
    assert (sigma**2 / given_out).sum() < 1.05 * 0.03 < 0.043333  # the optimum, 10 and 2; equal shares


@pytest.mark.parametrize(("pair", "expected"), [
    ((4, 8), 1), ((2, 8), 0.75), ((7, 8), 0.01), ((0, 8), 0.01), ((0, 0), 1), ((1, 1), 1)])
def test_the_released_codes_priority(pair, expected):
    assert weighed([pair], priority="code").tolist() == [expected]


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 1), (0.9, 1.8)])
def test_a_prompt_with_fewer_than_two_samples_weighs_one(pair):
    assert weighed([pair]).tolist() == [1]


def test_what_is_unseen_comes_first():
    """Of 24 beyond n_min, 8 and 2 bring the last two to 12 samples; 14 go by weight, of which 2 come back at n_max."""
    assert shared([(4, 8), (4, 8), (0, 0), (1, 6)], 40, n_min=4, n_max=16, n_init=12) == [8, 8, 16, 8]


def test_too_few_for_what_is_unseen_are_shared_by_need():
    assert shared([(4, 8), (0, 0), (0, 6)], 15, n_min=4, n_max=16, n_init=12) == [4, 6, 5]


def asked(rewards, budget, bounds=(0.0, 1.0), **params):
    """Rollouts of prompts with these rewards, of one earlier group each."""
    groups = {str(place): [group(values)] for place, values in enumerate(rewards) if values}
    inputs = AllocationInputs([str(place) for place in range(len(rewards))], budget, groups, bounds)
    return by_variance(inputs, SuccessVarianceParams(**{"memory": 1, "min_priority": 0, "n_min": 8, **params}), {})[0]


def group(values, mean=0.5):
    return GroupOutcomes(len(values), float(np.mean(values)), float(np.var(values)), sum(v > mean for v in values))


OF_TEST_2 = [[1] + [0] * 7, [1] * 4 + [0] * 4, [1] * 6 + [0] * 2, [0] * 8]


@pytest.mark.parametrize("priority", ["variance", "code"])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (0, 10), (-3, -2.5)])
def test_rewards_of_another_range_are_shared_as_their_scaled_ones(low, high, priority):
    scaled = [[low + (high - low) * value for value in values] for values in OF_TEST_2]
    groups = {str(place): [group(values, mean=(low + high) / 2)] for place, values in enumerate(scaled)}
    inputs = AllocationInputs(list(groups), 64, groups, (low, high))
    params = SuccessVarianceParams(memory=1, min_priority=0, priority=priority, mastered=1.0)
    assert by_variance(inputs, params, {})[0] == ([16, 21, 19, 8] if priority == "variance" else [14, 23, 19, 8])


@pytest.mark.parametrize("constant", [0.5, 0.1, 1 / 3, 0.7])
def test_equal_rewards_have_no_variance(constant):
    assert asked([[constant] * 8, [0.0, 1.0] * 4], 32) == [8, 24]
    assert asked([[constant] * 7 + [constant + 0.3], [constant] * 8], 32) == [24, 8]


def test_the_variance_of_rewards_in_between_is_the_samples():
    """(0, 0.5, 1, 0.5): 1/6; as a success rate of 1/2 it would be 1/3, like (0, 1, 0, 1)."""
    weights = asked([[0, 0.5, 1, 0.5] * 2, [0, 1] * 4], 60, power=1, n_max=60)
    spread = np.array([np.var([0, 0.5, 1, 0.5] * 2, ddof=1), np.var([0, 1] * 4, ddof=1)])
    np.testing.assert_allclose(weights, 8 + 44 * spread / spread.sum(), atol=1)


def test_a_graders_range_sets_the_scale_of_the_smallest_weight():
    """Rewards of 4 and 6 of 10 vary as little as 0.4 and 0.6 do."""
    assert asked([[4, 6] * 4, []], 32, bounds=(0, 10), min_priority=0.05) == asked(
        [[0.4, 0.6] * 4, []], 32, min_priority=0.05)


def test_older_groups_have_less_weight():
    """Twice asked: 0.9 and 0.81. k = 0.81 * 4 = 3.24 of M = 6.48 + 7.2."""
    groups = [group([1, 0] * 4), group([0] * 8)]
    inputs = AllocationInputs(["a", "b"], 20, {"a": groups, "b": [group([1, 0] * 4)]})
    found = by_variance(inputs, SuccessVarianceParams(n_min=5, n_max=20, power=1, min_priority=0), {})[0]
    p = 3.24 * (13.68 - 3.24) / (13.68 * 12.68)
    q = 3.6 * 3.6 / (7.2 * 6.2)
    assert found == [5 + round(10 * p / (p + q)), 5 + round(10 * q / (p + q))]


@pytest.mark.parametrize(("samples", "bounds"), [(16, (8, 24)), (8, (4, 12)), (4, (2, 6)), (3, (2, 4)), (2, (2, 3)),
                                                 (1, (1, 1)), (0, (0, 0))])
def test_bounds_follow_the_mean(samples, bounds):
    assert SuccessVarianceParams().bounds(samples) == bounds


def test_where_nothing_weighs_anything_each_gets_one_in_turn():
    assert shared([(0, 8), (8, 8), (0, 8)], 29, n_max=12, min_priority=0) == [10, 10, 9]
    assert shared([(4, 8), (8, 8), (0, 8)], 33, n_max=12, min_priority=0) == [12, 11, 10]


def test_bounds_too_wide_for_estimated_variances_are_reported():
    history = SuccessHistory(np.array([1.0, 4.0]), np.array([8.0, 8.0]), 32)
    for n_min, reported in ((1, 1), (7, 1), (8, 0)):
        _, _, metrics = dynamo(history, SuccessVarianceParams(n_min=n_min, n_max=64), {})
        assert metrics["loose_bounds"] == reported


def test_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(ValidationError, match="n_min of at most n_max, 4"):
        SuccessVarianceParams(n_min=5, n_max=4)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from(["variance", "code"]))
@settings(max_examples=150, deadline=None)
def test_8_all_is_given_out_within_the_bounds(seed, prompts, priority):
    random = np.random.default_rng(seed)
    samples = np.round(random.uniform(0, 30, prompts), random.integers(0, 2))
    successes = np.round(samples * random.beta(0.4, 0.4, prompts)).clip(0, samples)
    n_min = int(random.integers(1, 9))
    n_max = n_min + int(random.integers(0, 17))
    budget = int(random.integers(0, 2 * prompts * n_max))
    params = {"n_min": n_min, "n_max": n_max, "n_init": int(random.integers(0, 12)), "priority": priority,
              "min_priority": float(random.choice([0, 0.01]))}
    for total in (budget, prompts * n_min, prompts * n_max):
        found = np.array(shared(np.column_stack([successes, samples]), total, **params))
        assert found.sum() == np.clip(total, prompts * n_min, prompts * n_max)
        assert n_min <= found.min() <= found.max() <= n_max
