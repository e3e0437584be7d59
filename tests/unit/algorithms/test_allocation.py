"""Allocations: DynaMO's against the numbers of dynamo.md, and the properties of every allocation."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.allocation import SuccessHistory, SuccessVarianceParams, allocated, dynamo, priorities


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
