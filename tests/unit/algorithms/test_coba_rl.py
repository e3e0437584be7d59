"""CoBA-RL's allocation against the numbers of coba-rl.md, brute force and its properties."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.allocation.coba_rl import Capability, CobaRlParams, Curve, allocated, coba_rl, sharpened, tiers
from hone.algorithms.allocation.inputs import AllocationInputs, GroupOutcomes
from hone.algorithms.catalogue import ALLOCATIONS

PLAIN = CobaRlParams(tiers=False)
P, TAU = np.array([0.1, 0.4, 0.7, 0.9]), 7.960258


def capability(failure, params=PLAIN):
    return Capability.of([1 - failure], params)


def shared(rates, budget, failure=0.6, **params):
    chosen = CobaRlParams(**{"tiers": False, **params})
    return allocated(np.array(rates, np.float64), budget, capability(failure, chosen), chosen)


def asked(outcomes, budget, steps=(0.4,), params=None, **inputs):
    """Rollouts of prompts with these (successes, samples) of one earlier group each; None: never seen."""
    groups = {str(place): [GroupOutcomes(one[1], one[0] / one[1], successes=one[0], step=3)]
              for place, one in enumerate(outcomes) if one}
    given_ = AllocationInputs([str(place) for place in range(len(outcomes))], budget, groups, success_rates=steps,
                              **inputs)
    return coba_rl(given_, CobaRlParams(**(params or {})), {})


@pytest.mark.parametrize(("failure", "mode"), [
    (0.9, 0.9), (0.6, 0.6), (0.5, 0.5), (0.4, 0.268941), (0.3, 0.119203), (0.2, 0.047426), (0.1, 0.017986)])
def test_3_the_densitys_mode_follows_the_failure_rate(failure, mode):
    found = capability(failure)
    assert sharpened(failure) == pytest.approx(mode, abs=5e-7)
    assert (found.alpha - 1) / (found.alpha + found.beta - 2) == pytest.approx(mode, abs=5e-7)


def test_before_the_first_step_easy_prompts_are_worth_most():
    first = Capability.of([], PLAIN)
    assert (first.failure, first.alpha, first.beta) == (None, 9, 2)
    assert Capability.of([float("nan"), 0.5], PLAIN).failure == 0.5
    assert Capability.of([0.0, 1.0, 0.5], CobaRlParams(window=2)).failure == 0.25


@pytest.mark.parametrize(("failure", "expected"), [
    (0.8, [2, 2, 26, 2]), (0.6, [2, 6, 22, 2]), (0.3, [26, 2, 2, 2])])
def test_5_four_prompts_by_value_alone(failure, expected):
    found, tau = shared(P, 32, failure)
    assert found.tolist() == expected
    assert tau == pytest.approx(TAU, abs=5e-7)


def test_5_and_6_values_and_marginals():
    curve = Curve.of(P, capability(0.6), TAU)
    assert curve.value(np.array([2, 6, 22, 2])).sum() == pytest.approx(1.161191, abs=1e-6)
    assert curve.value(np.full(4, 8)).sum() == pytest.approx(0.695754, abs=1e-6)
    assert curve.density[1] == pytest.approx(1.270622, abs=1e-6)
    assert -np.expm1(-8 * curve.rate[1]) == pytest.approx(0.214314, abs=1e-6)
    assert curve.value(np.full(4, 8))[1] == pytest.approx(0.272312, abs=1e-6)
    assert [curve.marginal(place, 2) for place in range(4)] == pytest.approx(
        [0.000034, 0.035529, 0.053134, 0.001760], abs=6e-7)


def test_2_sixty_four_prompts_reach_the_optimum():
    found, tau = shared((np.arange(64) + 0.5) / 64, 1024)
    assert tau == pytest.approx(7.494377, abs=5e-7)
    curve = Curve.of((np.arange(64) + 0.5) / 64, capability(0.6), tau)
    assert curve.value(found).sum() == pytest.approx(37.292426, abs=1e-6)


def test_7_tiers():
    found, _ = shared([0.0, 0.5, 0.5, 1.0], 32, tiers=True)
    assert found.tolist() == [7, 12, 11, 2]
    assert {name: own.tolist() for name, own in tiers(np.array([0, 0.05, 0.99, 1])).items()} == {
        "hard": [0], "middle": [1, 2], "easy": [3]}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4), st.floats(0, 1), st.integers(0, 14))
@settings(max_examples=60, deadline=None)
def test_2_greedy_is_brute_force(rates, failure, extra):
    chances, high = np.clip(np.array(rates), 0.01, 0.99), 6
    curve = Curve.of(chances, capability(failure), TAU)
    extra = min(extra, len(rates) * (high - 1))
    found = curve.greedy(extra, (1, high))
    best = max(curve.value(np.array(one)).sum() for one in itertools.product(range(1, high + 1), repeat=len(rates))
               if sum(one) == extra + len(rates))
    assert found.sum() == extra + len(rates)
    assert curve.value(found).sum() == pytest.approx(best, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
@settings(max_examples=150, deadline=None)
def test_1_all_is_given_out_within_the_bounds_and_prompts_may_change_places(seed, prompts, with_tiers):
    random = np.random.default_rng(seed)
    rates = np.where(random.random(prompts) < 0.3, random.integers(0, 2, prompts), random.random(prompts))
    low = int(random.integers(1, 5))
    high = low + int(random.integers(0, 30))
    bounds = {"n_min": low, "n_max": high, "tiers": with_tiers}
    budget = int(random.integers(prompts * low, prompts * high + 1))
    found, _ = shared(rates, budget, random.random(), **bounds)
    assert found.sum() == budget
    assert low <= found.min() <= found.max() <= high
    places = random.permutation(prompts)
    moved, _ = shared(rates[places], budget, 0.6, **bounds)
    again, _ = shared(rates, budget, 0.6, **bounds)
    if len(set(rates)) == prompts and not with_tiers:
        assert moved.tolist() == again[places].tolist()


@pytest.mark.parametrize(("with_tiers", "most"), [(False, 1), (True, 2)])
def test_4_equal_prompts_get_equal_shares(with_tiers, most):
    for budget in range(20, 60):
        found, _ = shared([0.3] * 7, budget, tiers=with_tiers)
        assert np.ptp(found) <= most


def test_4_a_flat_density_and_a_large_tau_weigh_by_the_variance():
    chances = np.array([0.1, 0.3, 0.5])
    curve = Curve.of(chances, Capability(0.5, 1.0, 1.0), 1e6)
    marginals = np.array([curve.marginal(place, 2) for place in range(3)])
    np.testing.assert_allclose(marginals / marginals.sum(), chances * (1 - chances) / (chances * (1 - chances)).sum(),
                               rtol=1e-5)


def test_nothing_known_or_too_small_a_budget_gives_equal_shares():
    assert asked([None] * 3, 10)[0] == [4, 3, 3]
    assert asked([(1, 2)] * 3, 5)[0] == [2, 2, 1]
    given_, _, metrics = asked([None] * 2, 10, params={"n_max": 4})
    assert (given_, metrics["unspent"]) == ([4, 4], 2)
    assert coba_rl(AllocationInputs([], 0), CobaRlParams(), {})[0] == []


def test_what_is_full_everywhere_is_not_spent():
    given_, _, metrics = asked([(1, 2), (2, 2)], 100, params={"n_max": 8})
    assert given_ == [8, 8]
    assert metrics["unspent"] == 84


def test_an_unseen_prompt_has_its_predicted_chance_or_one_half():
    unseen = asked([(1, 10), None, (7, 10), (9, 10)], 32, params={"tiers": False})[0]
    half = asked([(1, 10), (5, 10), (7, 10), (9, 10)], 32, params={"tiers": False})[0]
    assert unseen == half
    predicted = asked([(1, 10), None, (7, 10), (9, 10)], 32, params={"tiers": False},
                      predicted=[0.9, 0.4, float("nan"), 7.0])[0]
    assert predicted == [2, 6, 22, 2]
    assert asked([None] * 2, 10, predicted=[None, None])[0] == [5, 5]


def test_a_prompt_twice_in_a_batch_shares_its_outcomes_and_rewards_that_are_no_number_do_not_count():
    groups = {"a": [GroupOutcomes(8, 1.0, successes=8), GroupOutcomes(8, float("nan"), successes=0)],
              "b": [GroupOutcomes(8, 0.5, successes=4)]}
    given_, _, metrics = coba_rl(AllocationInputs(["a", "b", "a"], 30, groups, success_rates=[0.5]), CobaRlParams(), {})
    assert given_[0] == given_[2] < given_[1]
    assert metrics["share/easy"] == pytest.approx(2 * given_[0] / 30)


def test_old_pass_rates_move_to_the_mean_of_the_batch():
    from hone.algorithms.allocation.coba_rl import pass_rates
    groups = {"a": [GroupOutcomes(4, 1.0, successes=4, step=2)], "b": [GroupOutcomes(4, 0.0, successes=0, step=6)]}
    inputs = AllocationInputs(["a", "b"], 8, groups, step=6)
    np.testing.assert_allclose(pass_rates(inputs, CobaRlParams(half_life=4)), [0.75, 0.0])


def test_what_cannot_hold_is_refused():
    with pytest.raises(ValidationError, match="n_min of at most n_max, 4"):
        CobaRlParams(n_min=5, n_max=4)
    with pytest.raises(ValidationError):
        CobaRlParams(kappa=2)


@pytest.mark.parametrize("name", sorted(ALLOCATIONS))
def test_a_hundred_thousand_prompts_take_less_than_a_second(name):
    random, many = np.random.default_rng(0), 100_000
    tasks = [str(place) for place in range(many)]
    groups = {task: [GroupOutcomes(8, k / 8, k / 8 * (1 - k / 8), k, k)]
              for task, k in zip(tasks, random.integers(0, 9, many).tolist(), strict=True)}
    inputs = AllocationInputs(tasks, 16 * many, groups, predicted=random.random(many).tolist(), success_rates=[0.5])
    begun = time.process_time()
    found = ALLOCATIONS[name](inputs, {}, {})[0]
    assert time.process_time() - begun < 1
    assert sum(found) == (4 if name == "v0_5" else 16) * many
