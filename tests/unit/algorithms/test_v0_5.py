"""V0.5 against the numbers of v0-5.md: fusion, stopping, and the errors of the baseline in a world of known chances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.advantages.v0_5 import fuse
from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.allocation.inputs import AllocationInputs
from hone.algorithms.allocation.v0_5 import V05Params, accepted, gain, next_wave
from hone.algorithms.catalogue import ADVANTAGES, AGGREGATIONS, ALLOCATIONS
from hone.algorithms.inputs import AdvantageInputs

C, MOST = 1 / 256, 16


@pytest.mark.parametrize(("rewards", "predicted", "w", "b", "advantages", "wave", "jump"), [
    ([1, -1, -1, -1], -0.3, 0, -0.3, [1.3, -0.7, -0.7, -0.7], 0, 0),
    ([1, 1, 1, 1], 0.2, 0.609375, 0.6875, [0.3125] * 4, 1, 10),
    ([1, 1, -1, -1], 0.7, 0.489796, 0.357143, [0.642857, 0.642857, -1.357143, -1.357143], 1, 8),
    ([-1, -1, -1, -1], 0.4, 0.872449, -0.821429, [-0.178571] * 4, 1, 12),
    ([1, 1, 1, 1], 0.6, 0, 0.6, [0.4] * 4, 0, 0),
])
def test_4_to_7_worked_numbers(rewards, predicted, w, b, advantages, wave, jump):
    unit = np.array(rewards, np.float64)
    found = fuse(unit, predicted)
    assert [*found.w, *found.b] == pytest.approx([w, b], abs=5e-7)
    assert bool(found.accepted[0]) == (w == 0) == accepted(4, float(unit.mean()), predicted)
    np.testing.assert_allclose(unit - found.b, advantages, atol=5e-7)
    assert next_wave(rewards, predicted, C, MOST) == wave
    assert next_wave(rewards, predicted, C, MOST, "jump") == jump


def test_5_the_gain_of_a_fifth_rollout():
    assert gain(4, 0.39) == pytest.approx(0.020140, abs=5e-7)


@pytest.mark.parametrize(("d2", "stop"), [
    (0.05, 4), (1 / 12, 4), (0.09, 5), (0.10, 6), (0.15, 9), (0.25, 12), (0.39, 13), (0.5, 14), (1, 15), (2, 16),
    (4, 16)])
def test_8_where_a_constant_error_stops(d2, stop):
    k = 4
    while k < MOST and gain(k, d2) > C:
        k += 1
    assert k == stop


@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=1, max_size=20), st.floats(-1, 1), st.booleans(),
       st.sampled_from(["bound", "variance", "smoothed"]))
@settings(max_examples=200, deadline=None)
def test_2_scales_do_not_matter_and_limits_hold(rewards, predicted, loo, noise):
    unit = np.array(rewards)
    plain = fuse(unit, predicted, loo=loo, noise=noise)
    scaled = fuse((unit + 1) / 2, (predicted + 1) / 2, (0, 1), loo, noise)
    np.testing.assert_allclose(scaled.b, (plain.b + 1) / 2, atol=1e-12)
    np.testing.assert_allclose(scaled.w, plain.w, atol=1e-9)
    assert len(plain.b) == (len(unit) if loo else 1)
    assert plain.w.min() >= 0
    assert plain.w.max() < 1
    assert next_wave(rewards, predicted, np.inf, 64) == 0
    more = next_wave(rewards, predicted, 0, 64, "jump")
    assert more == (0 if accepted(len(unit), float(unit.mean()), predicted) else 64 - len(unit))
    assert next_wave(rewards, predicted, C, len(rewards)) == 0


def test_1_a_right_prediction_and_very_many_rewards():
    half = np.array([1.0, -1.0] * 2)
    assert (fuse(half, 0.0).w[0], fuse(half, 0.0).b[0]) == (0, 0)
    many = fuse(np.array([1.0, -1.0] * 50_000), 0.5)
    assert many.w[0] > 0.999
    assert abs(many.b[0]) < 1e-3
    assert fuse(np.array([1.0]), 0.3, loo=True).b.tolist() == pytest.approx([0.3])


def test_loo_reads_the_other_samples_alone():
    found = fuse(np.array([1.0, -1, -1, -1]), 0.9, loo=True)
    alone = fuse(np.array([-1.0, -1, -1]), 0.9)
    assert (found.b[0], found.w[0]) == (alone.b[0], alone.w[0])


def estimated(groups, predictions, bounds=(0.0, 1.0), **params):
    reward = np.array([one for rewards in groups for one in rewards], np.float64)
    sizes = [len(rewards) for rewards in groups]
    inputs = AdvantageInputs(
        reward, np.repeat(np.arange(len(groups)), sizes), np.ones(len(reward), np.int64), np.full(len(reward), np.nan),
        predicted=np.repeat(np.array(predictions, np.float64), sizes), bounds=bounds)
    return ADVANTAGES["v0_5"](inputs, params, {})


def test_a_step_of_ragged_groups_with_and_without_a_prediction():
    """The chances 0.35, 0.6 and 0.85 are the predictions of the worked numbers on the scale from -1 to 1."""
    values, _, metrics = estimated([[1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0], [1, 1, 0, 0], [1, 1]],
                                   [0.35, 0.6, np.nan, 0.85, np.nan])
    expected = [0.65, -0.35, -0.35, -0.35, *[0.15625] * 4, 1 / 3, 1 / 3, -2 / 3, *[0.642857 / 2] * 2,
                *[-1.357143 / 2] * 2, 0, 0]
    np.testing.assert_allclose(values, expected, atol=5e-7)
    assert metrics["predicted_share"] == 0.6
    assert metrics["accepted"] == metrics["flat_with_signal"] == pytest.approx(1 / 3)
    assert metrics["mean_weight"] == pytest.approx((0.609375 + 0.489796) / 3, abs=5e-7)
    assert metrics["k_mean"] == 17 / 5


def test_other_ranges_and_the_scale_of_a_step():
    values, _, _ = estimated([[10, 0, 0, 0]], [0.35], (0, 10))
    np.testing.assert_allclose(values, [6.5, -3.5, -3.5, -3.5], atol=1e-9)
    scaled, _, _ = estimated([[1, 0, 0, 0], [1, 1, 1, 1]], [0.35, 0.6], scale="batch_std")
    assert scaled.std() == pytest.approx(1)
    assert estimated([[1, 1]], [np.nan], scale="batch_std")[0].tolist() == [0, 0]


def test_prompts_count_alike_however_many_their_rollouts():
    weights, _, _ = AGGREGATIONS["prompt-mean"](
        AggregationInputs(np.array([2, 4, 1, 0]), 8, np.array([0, 0, 3, 3])), {}, {})
    np.testing.assert_allclose(weights * [2, 4, 1, 1], 0.25)


def test_first_waves_and_the_share_of_a_prompt_without_prediction():
    inputs = AllocationInputs(["a", "b", "c"], 25, predicted=[0.2, None, float("nan")])
    assert ALLOCATIONS["v0_5"](inputs, {}, {})[0] == [4, 8, 8]


@pytest.mark.parametrize("params", [{"k_init": 2}, {"k_init": 1}, {"k_init": 8, "k_max": 4}, {"c": -1}])
def test_sizes_that_cannot_work_are_refused(params):
    with pytest.raises(ValidationError):
        V05Params(**params)


def errors(noise, bias, prompts=4_000):
    """Squared errors of: mean of 4, prediction alone, V0.5 with 4, V0.5 on demand; and rollouts on demand."""
    random = np.random.default_rng(0)
    mu = 2 * random.beta(1, 1, prompts) - 1
    wrong = random.normal(0, noise, prompts) + bias * random.choice([-1, 1], prompts)
    predictions = np.clip(mu + wrong, -1, 1)
    rewards = np.where(random.random((prompts, MOST)) < (mu[:, None] + 1) / 2, 1.0, -1.0)
    k = np.full(prompts, 4)
    for place, predicted in enumerate(predictions.tolist()):
        while more := next_wave(rewards[place, :k[place]].tolist(), predicted, C, MOST):
            k[place] += more
    fixed, demand = ([float(fuse(row[:many], value).b[0])
                      for row, many, value in zip(rewards, counts, predictions, strict=True)]
                     for counts in (np.full(prompts, 4), k))
    found = [rewards[:, :4].mean(axis=1), predictions, fixed, demand]
    return [float(((one - mu) ** 2).mean()) for one in found] + [float(k.mean())]


@pytest.mark.parametrize(("noise", "bias", "expected"), [
    (0.1, 0.0, [0.166, 0.009, 0.048, 0.014, 4.5]), (0.2, 0.0, [0.166, 0.036, 0.065, 0.035, 4.8]),
    (0.3, 0.0, [0.167, 0.076, 0.086, 0.059, 5.1]), (0.1, 0.5, [0.166, 0.213, 0.158, 0.146, 6.5]),
    (0.1, 0.9, [0.166, 0.569, 0.236, 0.211, 9.2])])
def test_the_baselines_error_by_the_predictions(noise, bias, expected):
    found = errors(noise, bias)
    assert found[:4] == pytest.approx(expected[:4], rel=0.08, abs=0.003)
    assert found[4] == pytest.approx(expected[4], abs=0.3)
