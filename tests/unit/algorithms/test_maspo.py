"""MASPO against its worked numbers, its exact properties, the oracle and finite differences."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.catalogue import LOSSES
from hone.algorithms.inputs import LossInputs
from hone.algorithms.losses.maspo import MaspoParams, maspo
from hone.algorithms.method import Method
from tests.oracles import maspo as oracle

F64, F32 = torch.float64, torch.float32
METHOD: Method[LossInputs, torch.Tensor] = Method(maspo, MaspoParams)
STEP, ROUNDING = 1e-6, 1e-13


def loss(logp, old, advantage, unmodulated=None, dtype=F64, method=METHOD, **params):
    """Loss, gradient and metrics of flat tokens."""
    logp, old, advantage, unmodulated = (
        None if x is None else torch.tensor(x, dtype=dtype) for x in (logp, old, advantage, unmodulated))
    logp.requires_grad_()
    values, _, metrics = method(LossInputs(logp, old, advantage, unmodulated=unmodulated), params, {})
    values.sum().backward()
    return values.detach().numpy(), logp.grad.numpy(), metrics


def of_ratio(ratio, p_old, advantage, **options):
    """The same for ratios and old probabilities, broadcast."""
    ratio, p_old, advantage = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(x, np.float64)) for x in (ratio, p_old, advantage)))
    return loss(np.log(p_old) + np.log(ratio), np.log(p_old), advantage.copy(), **options)


def gate(ratio, p_old, advantage, **params):
    return -of_ratio(ratio, p_old, advantage, **params)[0] / (np.asarray(ratio) * advantage)


TABLE = [
    (1.5, 0.9, 1.0, 1.063076, 0.895291, -1.342936, 0.0), (1.5, 0.01, 1.0, 4.100504, 0.992593, -1.488890, 0.0),
    (3.0, 0.9, 1.0, 1.063076, 0.170383, -0.511149, 0.0), (3.0, 0.01, 1.0, 4.100504, 0.887854, -2.663563, 0.0),
    (3.0, 1e-4, 1.0, 10.3, 0.981325, -2.943974, 0.0), (0.5, 0.9, -1.0, 1.002051, 0.882948, 0.441474, 0.0),
    (0.1, 0.01, -1.0, 3.865118, 0.973254, 0.097325, 0.0), (0.05, 0.5, -2.5, 1.145251, 0.708897, 0.088612, 0.0),
    (1.5, 0.5, -1.0, None, 1.0, 1.5, -1.5), (0.5, 0.5, 1.0, None, 1.0, -0.5, 0.5),
]


@pytest.mark.parametrize(("ratio", "p_old", "advantage", "sigma", "weight", "value", "clipped"), TABLE)
def test_worked_numbers(ratio, p_old, advantage, sigma, weight, value, clipped):
    values, gradient, _ = of_ratio(ratio, p_old, advantage)
    assert values[0] == pytest.approx(value, abs=6e-7)
    assert -gradient[0] == pytest.approx(-value, abs=6e-7)
    assert -values[0] / (ratio * advantage) == pytest.approx(weight, abs=6e-7)
    if sigma is not None:
        assert math.exp(-((ratio - 1) ** 2) / (2 * sigma**2)) == pytest.approx(weight, abs=6e-7)
    assert -of_ratio(ratio, p_old, advantage, method=LOSSES["ppo_clip"])[1][0] == pytest.approx(clipped, abs=1e-12)


@pytest.mark.parametrize(("sigma", "at", "most"), [(1.0, 1.618, 1.337), (4.1, 4.630, 3.129)])
def test_the_push_on_a_token_is_largest_where_the_specification_says(sigma, at, most):
    ratios = np.linspace(1, 12, 110_001)
    push = -of_ratio(ratios, 0.5, 1.0, sigma_base=sigma, alpha=0, beta_pos=0)[0]
    assert ratios[push.argmax()] == pytest.approx(at, abs=6e-4)
    assert ratios[push.argmax()] == pytest.approx((1 + math.sqrt(1 + 4 * sigma**2)) / 2, abs=2e-4)
    assert push.max() == pytest.approx(most, abs=6e-4)


@pytest.mark.parametrize(("alpha", "p_old"), [(0.3, 4.64e-4), (0.5, 1e-2)])
def test_the_base_width_reaches_its_cap_where_the_specification_says(alpha, p_old):
    metrics = of_ratio(1.0, [p_old * 0.99, p_old * 1.01], 1.0, alpha=alpha)[2]
    assert metrics["widest_fraction"] == 0.5
    assert metrics["width_mean"] == pytest.approx(10.0, rel=5e-3)


PARAMS = st.fixed_dictionaries({
    "sigma_base": st.floats(0.1, 5), "sigma_high": st.floats(5, 50), "alpha": st.floats(0, 1),
    "beta_pos": st.floats(0, 3), "beta_neg": st.floats(0, 3), "a_low": st.floats(0.05, 1), "a_high": st.floats(1, 20),
    "dual_clip_c": st.sampled_from([None, 1.5, 10.0]),
})


@given(params=PARAMS, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_property_1_at_ratio_1_it_is_grpo(params, seed):
    random = np.random.default_rng(seed)
    old, advantage = random.normal(-3, 2, 20), random.normal(size=20)
    values, gradient, _ = loss(old, old, advantage, **params)
    assert (values == -advantage).all()
    assert (gradient == -advantage).all()
    np.testing.assert_array_equal(gradient, loss(old, old, advantage, method=LOSSES["ppo_clip"])[1])


@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_property_2_without_alpha_and_beta_every_width_is_sigma_base(sigma):
    p_old = np.array([0.9, 0.1, 1e-3, 1e-6])
    for ratio, advantage in ((1.8, 2.0), (0.3, -2.0)):
        found = gate(ratio, p_old, advantage, sigma_base=sigma, alpha=0, beta_pos=0, beta_neg=0)
        np.testing.assert_allclose(found, math.exp(-((ratio - 1) ** 2) / (2 * sigma**2)), rtol=1e-12)


def test_property_3_an_endless_width_is_the_unclipped_loss():
    for ratio, advantage in ((9.0, 2.0), (0.01, -2.0), (9.0, -2.0), (0.01, 2.0)):
        values, gradient, _ = of_ratio(ratio, 0.3, advantage, sigma_base=1e8, sigma_high=1e8)
        assert values[0] == pytest.approx(-ratio * advantage, rel=1e-12)
        assert gradient[0] == pytest.approx(-ratio * advantage, rel=1e-12)


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_property_4_the_gate_leaves_1_without_a_jump_or_a_slope(advantage):
    offsets = np.array([-1e-3, -1e-4, -1e-9, 0.0, 1e-9, 1e-4, 1e-3])
    fall = 1 - gate(1 + offsets, 0.9, advantage)
    assert (np.abs(fall) <= 0.6 * offsets**2 + 1e-14).all()
    ratios = np.linspace(0.01, 6, 60_000)
    assert np.abs(np.diff(of_ratio(ratios, 0.9, advantage)[0])).max() < 2e-4


@pytest.mark.parametrize(("ratios", "advantages"), [
    (np.linspace(1, 8, 200), np.linspace(0.1, 300, 200)), (np.linspace(1, 0.01, 200), -np.linspace(300, 0.1, 200)),
])
def test_property_5_the_gate_is_monotone(ratios, advantages):
    """Down with |rho - 1| and p_old; up with A > 0, down with |A| for A < 0."""
    far, some = ratios[100], advantages[100]
    assert (np.diff(gate(ratios, 0.4, some)) <= ROUNDING).all()
    assert (np.diff(gate(far, np.geomspace(1e-6, 1, 200), some)) <= ROUNDING).all()
    found = gate(far, 0.4, advantages)
    assert (np.diff(found) >= -ROUNDING).all()
    assert found[-1] > found[0]


def batch(seed, spread=0.8):
    random = np.random.default_rng(seed)
    mask = random.random((random.integers(1, 6), random.integers(1, 9))) < 0.7
    mask[0, 0] = True
    old = random.normal(-3, 3, mask.shape)
    advantage, factor = random.normal(0, 2, mask.shape), random.uniform(0.5, 1.5, mask.shape)
    return old + random.normal(0, spread, mask.shape), old, advantage * factor, mask, advantage


def constants(params):
    c = params.get("dual_clip_c")
    return oracle.Constants(**{**params, "dual_clip_c": math.inf if c is None else c})


@given(params=PARAMS, seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.1, 0.8, 3.0, 30.0]))
@settings(max_examples=80, deadline=None)
def test_losses_agree_with_the_oracle(params, seed, spread):
    logp, old, advantage, mask, unmodulated = batch(seed, spread)
    flat = logp[mask], old[mask], advantage[mask]
    for which, width in (("unmodulated", unmodulated), ("loss", None)):
        expected = oracle.loss(logp, old, advantage, mask, constants(params), width)[mask]
        found = loss(*flat, unmodulated[mask], width_advantage=which, **params)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    expected = oracle.loss(logp, old, advantage, mask, oracle.Constants())[mask]
    if spread < 1:
        np.testing.assert_allclose(loss(*flat, None, F32)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("c", [None, 1.5])
def test_property_6_the_gate_is_detached(seed, c):
    """d loss / d logp = -A w rho, against a finite difference that holds w."""
    logp, old, advantage, mask, unmodulated = batch(seed)
    gradient = loss(logp[mask], old[mask], advantage[mask], unmodulated[mask], dual_clip_c=c)[1]
    higher, lower = (oracle.loss(logp + step, old, advantage, mask, constants({"dual_clip_c": c}), unmodulated,
                                 anchor=logp) for step in (STEP, -STEP))
    np.testing.assert_allclose(gradient, ((higher - lower) / (2 * STEP))[mask], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("old", [0.0, -1e3])
@pytest.mark.parametrize("difference", [0.0, -50.0, 50.0])
def test_property_7_nothing_is_nan(dtype, old, difference):
    advantage = [1.0, -1.0, 0.0, 1 / 0.03, -1 / 0.03, 1e20, -1e20]
    for c in (None, 10.0):
        found = loss([old + difference] * 7, [old] * 7, advantage, dtype=dtype, dual_clip_c=c)
        assert np.isfinite([*found[0], *found[1], *found[2].values()]).all()
        assert found[0][2] == 0


def test_a_token_that_cannot_have_been_sampled_has_the_widest_region():
    assert loss([-1e3], [-1e3], [1.0])[2]["widest_fraction"] == 1
    assert loss([-1e3], [-1e3], [1.0], alpha=0.01)[2]["width_mean"] == pytest.approx(math.exp(0.01 * 60))


def test_no_gradient_flows_where_the_log_ratio_is_clamped():
    values, gradient, _ = loss([25.0, -25.0], [0.0, 0.0], [-1.0, 1.0])
    assert gradient.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(values, [math.exp(20), -math.exp(-20)])


@pytest.mark.parametrize(("ratio", "advantage", "value", "coefficient"), [
    (20.0, -2.0, 20.0, 0.0), (9.0, -2.0, 18.0, 18.0), (20.0, 2.0, None, None), (0.5, -2.0, None, None),
])
def test_dual_clip_bounds_the_loss_of_negative_advantages_alone(ratio, advantage, value, coefficient):
    off, on = of_ratio(ratio, 0.01, advantage), of_ratio(ratio, 0.01, advantage, dual_clip_c=10.0)
    assert on[0][0] == pytest.approx(off[0][0] if value is None else value)
    assert on[1][0] == pytest.approx(off[1][0] if coefficient is None else coefficient)
    assert on[2]["clip_fraction"] == (coefficient == 0)
    assert off[2]["clip_fraction"] == 0


def test_the_width_follows_the_unmodulated_advantage_and_the_quadrant_that_of_the_loss():
    logp, old = [math.log(2.0) - 1, math.log(0.5) - 1], [-1.0, -1.0]
    modulated, plain = [1.0, -1.0], [-40.0, 40.0]
    values = loss(logp, old, modulated, plain)[0]
    base = math.exp(0.3)
    wide, narrow = base * (1 + 0.03 * 40), base / (1 + 0.03 * 40)
    assert values[0] == pytest.approx(-2 * math.exp(-1 / (2 * wide**2)))
    assert values[1] == pytest.approx(0.5 * math.exp(-0.25 / (2 * narrow**2)))
    same = loss(logp, old, modulated, plain, width_advantage="loss")[0]
    np.testing.assert_array_equal(same, loss(logp, old, modulated)[0])
    assert (same != values).all()


def test_metrics_name_each_gated_quadrant():
    ratio, p_old, advantage = [1.5, 3.0, 0.5, 1.5, 0.5], [0.9, 0.9, 0.9, 0.5, 1e-4], [1.0, 1, -1, -1, 1]
    metrics = of_ratio(ratio, p_old, advantage)[2]
    assert metrics["gate_positive"] == pytest.approx((0.895291 + 0.170383) / 2, abs=1e-6)
    assert metrics["gate_negative"] == pytest.approx(0.882948, abs=1e-6)
    assert metrics["damped_fraction"] == pytest.approx(0.2)
    assert metrics["widest_fraction"] == pytest.approx(0.2)
    assert metrics["width_mean"] == pytest.approx((3 * 0.9**-0.3 + 0.5**-0.3 + 10) / 5)
    assert metrics["ratio_mean"] == pytest.approx(1.4)
    assert metrics["ratio_max"] == pytest.approx(3.0)


def test_a_quadrant_without_tokens_has_no_mean():
    metrics = of_ratio([1.0, 1.0], 0.5, [1.0, -1.0])[2]
    assert not {"gate_positive", "gate_negative"} & metrics.keys()


def test_defaults_are_those_of_the_table_and_widths_are_ordered():
    assert MaspoParams().model_dump() == {
        "sigma_base": 1.0, "alpha": 0.3, "beta_pos": 0.03, "beta_neg": 0.03, "sigma_high": 10.0, "a_low": 0.1,
        "a_high": 10.0, "width_advantage": "unmodulated", "dual_clip_c": None,
    }
    with pytest.raises(ValidationError, match="sigma_base"):
        MaspoParams(sigma_base=20)
