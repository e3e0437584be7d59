"""GSPO, CISPO and SAPO against worked numbers, the oracle, finite differences and the invariances of baselines.md."""

import functools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.catalogue import LOSSES
from hone.algorithms.inputs import LossInputs
from hone.algorithms.losses.cispo import CispoParams, cispo
from hone.algorithms.losses.gspo import GspoParams, gspo
from hone.algorithms.losses.sapo import SapoParams, sapo
from hone.algorithms.method import Method
from tests.oracles import sequence_losses as oracle

F64, F32 = torch.float64, torch.float32
METHODS: dict[str, Method[LossInputs, torch.Tensor]] = {
    "gspo": Method(gspo, GspoParams), "cispo": Method(cispo, CispoParams), "sapo": Method(sapo, SapoParams),
}
STEP = 1e-6


def loss(name, logp, old, advantage, mask=None, dtype=F64, **params):
    """Loss, gradient and metrics of the tokens under the mask (left out: one sequence), in row order."""
    mask = np.ones((1, len(logp)), bool) if mask is None else mask
    logp, old, advantage = (torch.tensor(np.reshape(x, mask.shape)[mask], dtype=dtype) for x in (logp, old, advantage))
    logp.requires_grad_()
    trajectory = torch.from_numpy(np.nonzero(mask)[0])
    values, _, metrics = METHODS[name](LossInputs(logp, old, advantage, trajectory, len(mask)), params, {})
    values.sum().backward()
    return values.detach().numpy(), logp.grad.numpy(), metrics


def batch(seed, spread, constant=False):
    """Ragged rows, at least one token each; every advantage of a row alike where `constant`."""
    random = np.random.default_rng(seed)
    rows, length = random.integers(1, 6), random.integers(1, 8)
    mask = random.random((rows, length)) < 0.7
    mask[np.arange(rows), random.integers(0, length, rows)] = True
    old = random.normal(-2, 1, mask.shape)
    advantage = random.normal(size=mask.shape)
    advantage = np.repeat(advantage[:, :1], length, axis=1) if constant else advantage
    return old + random.normal(0, spread, mask.shape), old, advantage, mask


def slope(function, logp, mask):
    """Central differences of the sum of `function` by each logp under the mask."""
    out = np.zeros(mask.shape)
    for place in zip(*np.nonzero(mask), strict=True):
        step = np.zeros(mask.shape)
        step[place] = STEP
        out[place] = (np.sum(function(logp + step)) - np.sum(function(logp - step))) / (2 * STEP)
    return out[mask]


def test_example_6_gspo_sequence_ratio():
    old, new = np.log([0.5, 0.2, 0.1]), np.log([0.6, 0.25, 0.08])
    values, gradient, metrics = loss("gspo", new, old, np.ones(3), high=1.0)
    np.testing.assert_allclose(values, [-1.062659] * 3, atol=5e-7)
    np.testing.assert_allclose(gradient, [-1.062659] * 3, atol=5e-7)
    assert values[0] ** 3 == pytest.approx(-1.2, abs=1e-12)
    assert metrics["ratio_max"] == pytest.approx(1.062659, abs=5e-7)


@pytest.mark.parametrize(("ratio", "advantage", "params", "gate"), [
    (1.0, 1.0, {}, 1.0), (0.5, 1.0, {}, 0.940015), (1.5, 1.0, {}, 0.940015), (2.0, 1.0, {}, 0.786448),
    (1.5, -1.0, {}, 0.934140), (1.5, 1.0, {"tau_pos": 1.05}, 0.934140),
])
def test_example_7_sapo_gradient_weight(ratio, advantage, params, gate):
    _, gradient, metrics = loss("sapo", [np.log(ratio)], [0.0], [advantage], **params)
    assert -gradient[0] / (ratio * advantage) == pytest.approx(gate, abs=5e-7)
    assert metrics["gate_mean"] == pytest.approx(gate, abs=5e-7)


@pytest.mark.parametrize(("ratio", "advantage", "params", "coefficient"), [
    (1.5, 2.0, {}, -3.0), (8.0, 2.0, {}, -10.0), (8.0, -2.0, {}, 10.0), (0.01, 1.0, {}, -0.01),
    (0.01, 1.0, {"floor": 0.5}, -0.5), (3.0, 1.0, {"cap": 2.0}, -2.0),
])
def test_cispo_gradient_is_the_bounded_ratio_of_the_table(ratio, advantage, params, coefficient):
    values, gradient, _ = loss("cispo", [np.log(ratio) - 3], [-3.0], [advantage], **params)
    assert gradient[0] == pytest.approx(coefficient, abs=1e-12)
    assert values[0] == pytest.approx(coefficient * (np.log(ratio) - 3), abs=1e-12)


@pytest.mark.parametrize(("shift", "advantage", "coefficient"), [
    (5e-4, 1.0, 0.0), (3.9e-4, 1.0, -np.exp(3.9e-4)), (-1.0, 1.0, -np.exp(-1.0)),
    (-4e-4, -1.0, 0.0), (-2.9e-4, -1.0, np.exp(-2.9e-4)), (1.0, -1.0, np.exp(1.0)),
])
def test_gspo_gradient_is_the_coefficient_of_the_table(shift, advantage, coefficient):
    old = np.array([-1.0, -2.0, -3.0])
    _, gradient, metrics = loss("gspo", old + shift * np.array([3, -1, 1]), old, np.full(3, advantage))
    np.testing.assert_allclose(gradient, [coefficient] * 3, atol=1e-12)
    assert metrics["clip_fraction"] == (coefficient == 0)


@pytest.mark.parametrize("name", ["ppo_clip", "reinforce", "gspo", "cispo", "sapo"])
def test_gradients_coincide_at_ratio_1(name):
    """PPO, CISPO, SAPO, GSPO (length 1) and REINFORCE."""
    old = torch.randn(50, dtype=F64, generator=torch.Generator().manual_seed(1))
    logp, advantage = old.clone().requires_grad_(), torch.linspace(-2, 2, 50, dtype=F64)
    method = {**LOSSES, **METHODS}[name]
    method(LossInputs(logp, old, advantage, torch.arange(50), 50), {}, {})[0].sum().backward()
    torch.testing.assert_close(logp.grad, -advantage, rtol=0, atol=1e-12)


def test_sapo_without_temperature_is_the_unclipped_ratio():
    logp, old, advantage, mask = batch(3, 0.3)
    values, gradient, _ = loss("sapo", logp, old, advantage, mask, tau_pos=1e-3, tau_neg=1e-3)
    plain = -np.exp(logp - old)[mask] * advantage[mask]
    np.testing.assert_allclose(gradient, plain, rtol=2e-6)
    np.testing.assert_allclose(values + 2 / 1e-3 * advantage[mask], plain + advantage[mask], atol=1e-5)


ORACLES: dict[str, Any] = {"gspo": oracle.gspo, "cispo": oracle.cispo, "sapo": oracle.sapo}
SPREADS = st.sampled_from([3e-4, 0.1, 1.5])


@pytest.mark.parametrize("name", sorted(METHODS))
@given(seed=st.integers(0, 2**32 - 1), spread=SPREADS)
@settings(max_examples=60, deadline=None)
def test_losses_agree_with_the_oracle(name, seed, spread):
    logp, old, advantage, mask = batch(seed, spread)
    expected = ORACLES[name](logp, old, advantage, mask)[mask]
    for dtype, tolerance in ((F64, 1e-6), (F32, 1e-4)):
        found = loss(name, logp, old, advantage, mask, dtype)[0]
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [3e-4, 1.0])
def test_gradients_match_finite_differences_of_the_oracle(name, seed, spread):
    logp, old, advantage, mask = given = batch(seed, spread)
    held = {} if name == "sapo" else {"anchor": logp}
    expected = slope(lambda x: ORACLES[name](x, old, advantage, mask, **held), logp, mask)
    np.testing.assert_allclose(loss(name, *given)[1], expected, atol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), spread=SPREADS)
@settings(max_examples=40, deadline=None)
def test_gspo_gradient_is_the_oracles_coefficient(seed, spread):
    given = batch(seed, spread)
    np.testing.assert_allclose(loss("gspo", *given)[1], oracle.gspo_gradient(*given)[given[3]], rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [3e-4, 1.0])
def test_the_row_mean_of_gspos_token_form_is_the_sequence_objective(seed, spread):
    logp, old, advantage, mask = given = batch(seed, spread, constant=True)
    weight = np.broadcast_to(1 / mask.sum(axis=1, keepdims=True) / len(mask), mask.shape)[mask]
    whole = functools.partial(oracle.gspo_sequence, old=old, advantage=advantage[:, 0], mask=mask)
    values, gradient, _ = loss("gspo", *given)
    assert weight @ values == pytest.approx(whole(logp), abs=1e-9)
    np.testing.assert_allclose(weight * gradient, slope(whole, logp, mask), atol=1e-6)


@pytest.mark.parametrize("name", ["gspo", "sapo"])
def test_no_gradient_flows_where_the_log_ratio_is_clamped(name):
    for shift, advantage in ((25.0, -1.0), (-25.0, 1.0)):
        values, gradient, _ = loss(name, [shift], [0.0], [advantage])
        assert gradient[0] == 0
        assert values[0] == pytest.approx(ORACLES[name](
            np.array([[shift]]), np.zeros((1, 1)), np.array([[advantage]]), np.ones((1, 1), bool))[0, 0])


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("difference", [-1e3, -50.0, 0.0, 50.0, 1e3])
def test_outputs_are_finite(name, difference):
    for old in (0.0, -1e3):
        values, gradient, metrics = loss(name, [old + difference] * 2, [old] * 2, [1.0, -1.0], dtype=F32)
        assert np.isfinite([*values, *gradient, *metrics.values()]).all()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_advantage_has_no_loss(name):
    logp, old, _, mask = batch(9, 1.0)
    values, gradient, _ = loss(name, logp, old, np.zeros(mask.shape), mask)
    assert (values == 0).all()
    assert (gradient == 0).all()


def test_metrics_count_what_is_bounded():
    metrics = loss("cispo", np.log([0.1, 1, 2, 9]), np.zeros(4), np.ones(4))[2]
    assert metrics == {"ratio_mean": pytest.approx(3.025), "ratio_max": pytest.approx(9.0), "bounded_fraction": 0.25}


def test_defaults_are_those_of_the_table():
    assert GspoParams().model_dump() == {"low": 3e-4, "high": 4e-4}
    assert CispoParams().model_dump() == {"cap": 5.0, "floor": 0.0}
    assert SapoParams().model_dump() == {"tau_pos": 1.0, "tau_neg": 1.05}
    with pytest.raises(ValidationError):
        SapoParams(tau_pos=0)
