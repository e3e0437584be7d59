"""V0's allocation against the numbers of v0.md and brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.allocation.coba_rl import Capability, CobaRlParams, Curve
from hone.algorithms.allocation.inputs import AllocationInputs
from hone.algorithms.allocation.v0 import V0Params, contrasted, envelope, mixed, optimum, v0


def value(rollouts, chances):
    return Curve.of(np.clip(chances, 0.01, 0.99), Capability.of([0.4], CobaRlParams()), 8.0).value(rollouts)


UTILITIES = {"contrasted": contrasted, "mixed": mixed, "coba_rl": value}


@pytest.mark.parametrize(("chance", "expected"), [
    (0.05, 2.2926), (0.1, 3.7563), (0.25, 5.1991), (0.5, 3.9688), (0.75, 1.9999), (0.9, 0.8)])
def test_5_the_utility_of_eight(chance, expected):
    assert contrasted(np.array(8), np.array(chance)) == pytest.approx(expected, abs=5e-5)


def marginals(utility, counts):
    return [float(utility(np.array(n + 1), np.array(0.02)) - utility(np.array(n), np.array(0.02))) for n in counts]


def test_5_for_small_chances_it_is_not_concave():
    assert marginals(contrasted, (1, 2, 3, 4, 8)) == pytest.approx([0.0392, 0.0772, 0.1141, 0.1499, 0.2824], abs=5e-5)
    assert marginals(mixed, (1, 2, 3, 4)) == pytest.approx([0.0392, 0.0196, 0.0188, 0.0184], abs=6e-5)
    assert [float(contrasted(np.array(n), np.array(0.3))) for n in (0, 1)] == [0, 0]


@given(st.sampled_from(sorted(UTILITIES)), st.lists(st.floats(0, 1), min_size=1, max_size=4), st.integers(0, 20),
       st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_7_the_optimum_is_brute_force_and_the_envelope_comes_near_it(name, chances, total, low):
    utility, high = UTILITIES[name], low + 5
    found_chances = np.round(np.array(chances), 3)
    total = min(max(total, low * len(chances)), high * len(chances))
    every = [np.array(one) for one in itertools.product(range(low, high + 1), repeat=len(chances)) if sum(one) == total]
    best = max(utility(one, found_chances).sum() for one in every)
    exact = optimum(found_chances, total, (low, high), utility)
    assert exact.sum() == total
    assert utility(exact, found_chances).sum() == pytest.approx(best, abs=1e-10)
    near = envelope(found_chances, total, (low, high), utility)
    assert near.sum() == total
    assert low <= near.min() <= near.max() <= high
    jump = max(utility(np.array(high), one) - utility(np.array(low), one) for one in found_chances)
    assert utility(near, found_chances).sum() >= best - jump - 1e-9


def test_equal_prompts_earlier_ones_first():
    assert optimum(np.full(3, 0.5), 10, (2, 5), mixed).tolist() == [4, 3, 3]
    assert optimum(np.zeros(3), 10, (2, 5), contrasted).tolist() == [5, 3, 2]


def asked(budget, predicted, **params):
    return v0(AllocationInputs([str(place) for place in range(len(predicted))], budget, predicted=predicted),
              V0Params(**params), {})


def test_without_a_prediction_shares_are_equal():
    assert asked(10, [None, None, None])[0] == [4, 3, 3]
    assert asked(5, [0.5, 0.5, 0.5])[0] == [2, 2, 1]
    assert asked(3, [0.5, 0.5], n_min=1)[2]["exact"] == 1


def test_what_exceeds_the_most_for_all_is_not_spent():
    given_, _, metrics = asked(100, [0.1, 0.9], n_max=8)
    assert given_ == [8, 8]
    assert metrics["unspent"] == 84


@pytest.mark.parametrize("utility", sorted(UTILITIES))
def test_hard_prompts_get_more_than_those_that_are_solved(utility):
    given_ = asked(32, [0.15, 0.5, 0.99, None], utility=utility)[0]
    assert sum(given_) == 32
    if utility != "coba_rl":
        assert given_[0] > given_[2]


def test_beyond_the_exact_size_the_metric_says_so():
    assert asked(16 * 2000, np.linspace(0, 1, 2000).tolist())[2]["exact"] == 0
