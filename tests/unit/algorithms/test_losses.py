"""Losses, corrections, regularizers and aggregations against worked numbers, the oracle and finite differences."""

import math

import numpy as np
import pytest
import torch

from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import AGGREGATIONS, CORRECTIONS, LOSSES, REGULARIZERS
from hone.algorithms.inputs import CorrectionInputs, LossInputs, RegularizerInputs
from hone.algorithms.regularizers.kl import estimate_kl
from tests.oracles import losses as oracle

F64, F32 = torch.float64, torch.float32
ELSEWHERE = {"gspo", "cispo", "sapo", "maspo", "teacher_k3", "teacher_kl"}
"""Losses with tables of their own: parts of them are constants for the gradient, or they read more."""


def loss(name, logp, old, advantage, **params):
    values, _, metrics = LOSSES[name](LossInputs(logp, old, advantage), params, {})
    return values, metrics


def of_ratio(ratio, advantage, name, **params):
    values, _ = loss(name, torch.tensor([math.log(ratio)], dtype=F64), torch.zeros(1, dtype=F64),
                     torch.tensor([advantage], dtype=F64), **params)
    return -float(values)


@pytest.mark.parametrize(("ratio", "advantage", "name", "objective"), [
    (1.5, 1.0, "ppo_clip", 1.2), (1.5, 1.0, "clip_higher", 1.28), (0.5, 1.0, "ppo_clip", 0.5),
    (1.5, -1.0, "ppo_clip", -1.5), (0.5, -1.0, "ppo_clip", -0.8), (5.0, -1.0, "ppo_clip", -5.0),
    (5.0, -1.0, "dual_clip", -3.0), (5.0, 1.0, "dual_clip", 1.2), (0.5, -1.0, "dual_clip", -0.8),
])
def test_clip_worked_numbers(ratio, advantage, name, objective):
    assert of_ratio(ratio, advantage, name) == pytest.approx(objective, abs=1e-12)


def test_dual_clip_floor_is_a_parameter():
    assert of_ratio(50.0, -1.0, "dual_clip", floor=10.0) == pytest.approx(-10.0)


@pytest.mark.parametrize("name", ["ppo_clip", "clip_higher", "dual_clip", "reinforce"])
def test_gradients_coincide_on_policy(name):
    old = torch.randn(50, dtype=F64, generator=torch.Generator().manual_seed(1))
    logp, advantage = old.clone().requires_grad_(), torch.linspace(-2, 2, 50, dtype=F64)
    loss(name, logp, old, advantage)[0].sum().backward()
    torch.testing.assert_close(logp.grad, -advantage)


def test_mle_is_the_negative_log_likelihood():
    logp = torch.tensor([-1.0, -2.0])
    assert loss("mle", logp, logp, torch.zeros(2))[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("dtype", "tolerance"), [(F64, 1e-6), (F32, 1e-4)])
@pytest.mark.parametrize("seed", range(3))
def test_losses_agree_with_the_oracle(dtype, tolerance, seed):
    random = np.random.default_rng(seed)
    logp, old, advantage = random.normal(-2, 0.6, 400), random.normal(-2, 0.6, 400), random.normal(size=400)
    given = [torch.tensor(each, dtype=dtype) for each in (logp, old, advantage)]
    expected = {
        "ppo_clip": oracle.ppo_clip(logp, old, advantage),
        "clip_higher": oracle.ppo_clip(logp, old, advantage, 0.2, 0.28),
        "dual_clip": oracle.dual_clip(logp, old, advantage),
        "reinforce": -advantage * logp, "mle": -logp,
    }
    assert expected.keys() == LOSSES.keys() - ELSEWHERE
    for name, values in expected.items():
        np.testing.assert_allclose(loss(name, *given)[0].numpy(), values, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - ELSEWHERE))
def test_gradients_match_finite_differences(name):
    random = np.random.default_rng(5)
    logp = torch.tensor(random.normal(-2, 0.6, 60), dtype=F64, requires_grad=True)
    old, advantage = (torch.tensor(random.normal(-2, 0.6, 60), dtype=F64) for _ in range(2))
    assert torch.autograd.gradcheck(lambda x: loss(name, x, old, advantage)[0], (logp,), eps=1e-7, atol=1e-5)


def test_clip_gradient_is_the_coefficient_of_the_table():
    random = np.random.default_rng(2)
    values = random.normal(-2, 0.6, 300), random.normal(-2, 0.6, 300), random.normal(size=300)
    logp, old, advantage = (torch.tensor(each, dtype=F64) for each in values)
    logp.requires_grad_()
    loss("ppo_clip", logp, old, advantage)[0].sum().backward()
    assert logp.grad is not None
    np.testing.assert_allclose(logp.grad.numpy(), oracle.ppo_clip_gradient(*values), atol=1e-12)


def test_no_gradient_flows_where_the_log_ratio_is_clamped():
    logp = torch.tensor([25.0, -25.0], requires_grad=True)
    loss("ppo_clip", logp, torch.zeros(2), torch.tensor([-1.0, 1.0]))[0].sum().backward()
    assert logp.grad is not None
    assert logp.grad.tolist() == [0.0, 0.0]


def test_clip_fraction_counts_stopped_tokens():
    ratios = torch.tensor([1.5, 1.5, 0.5, 1.0]).log()
    metrics = loss("ppo_clip", ratios, torch.zeros(4), torch.tensor([1.0, -1.0, -1.0, 1.0]))[1]
    assert metrics["clip_fraction"] == 0.5
    assert metrics["ratio_max"] == pytest.approx(1.5)


TRAINER, SAMPLER = np.log([0.30, 0.10, 0.02]), np.log([0.25, 0.10, 0.005])


def correction(name, old=TRAINER, sampled=SAMPLER, trajectory=None, dtype=F64, **params):
    trajectory = torch.zeros(len(old), dtype=torch.int64) if trajectory is None else trajectory
    given = CorrectionInputs(
        torch.tensor(old, dtype=dtype), torch.tensor(sampled, dtype=dtype), trajectory, int(trajectory.max()) + 1)
    return CORRECTIONS[name](given, params, {})[0].numpy()


@pytest.mark.parametrize(("name", "params", "expected"), [
    ("none", {}, [1, 1, 1]),
    ("tis", {"cap": 100.0}, [1.2, 1, 4]),
    ("tis", {}, [1.2, 1, 2]),
    ("tis", {"level": "sequence"}, [2, 2, 2]),
    ("tis", {"level": "sequence", "cap": 100.0}, [4.8, 4.8, 4.8]),
    ("icepop", {}, [1.2, 1, 4]),
    ("icepop", {"high": 3.0}, [1.2, 1, 0]),
    ("masked", {}, [1, 1, 1]),
    ("masked", {"high": 1.6}, [0, 0, 0]),
    ("masked", {"high": 1.687}, [1, 1, 1]),
    ("masked", {"ratio": "product", "high": 4.5}, [0, 0, 0]),
])
def test_correction_worked_numbers(name, params, expected):
    np.testing.assert_allclose(correction(name, **params), expected, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(F64, 1e-6), (F32, 1e-4)])
def test_corrections_agree_with_the_oracle(dtype, tolerance):
    random = np.random.default_rng(8)
    old, sampled, mask = random.normal(-2, 1, (9, 6)), random.normal(-2, 1, (9, 6)), random.random((9, 6)) < 0.6
    mask[:, 0] = True
    trajectory = torch.from_numpy(np.nonzero(mask)[0])
    expected = {
        ("tis", "level", "token"): oracle.tis(old, sampled, mask, 2.0, sequence=False),
        ("tis", "level", "sequence"): oracle.tis(old, sampled, mask, 2.0, sequence=True),
        ("icepop", "low", 0.5): oracle.icepop(old, sampled, mask),
        ("masked", "ratio", "mean"): oracle.masked(old, sampled, mask),
        ("masked", "ratio", "product"): oracle.masked(old, sampled, mask, product=True),
    }
    for (name, param, value), weights in expected.items():
        found = correction(name, old[mask], sampled[mask], trajectory, dtype, **{param: value})
        np.testing.assert_allclose(found, weights[mask], rtol=tolerance, err_msg=f"{name} {value}")


def test_kl_worked_numbers():
    policy, reference = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    d = torch.tensor(np.log(reference) - np.log(policy))
    values = {name: estimate_kl(d, name).numpy() for name in ("k1", "k2", "k3")}
    means = {name: float(policy @ each) for name, each in values.items()}
    assert means["k1"] == pytest.approx(0.025267, abs=5e-7)
    assert means["k2"] == pytest.approx(0.024862, abs=5e-7)
    assert means["k3"] == pytest.approx(0.025267, abs=5e-7)
    assert policy @ values["k1"] ** 2 - means["k1"] ** 2 == pytest.approx(0.049086, abs=5e-7)
    assert policy @ values["k3"] ** 2 - means["k3"] ** 2 == pytest.approx(0.000255, abs=5e-7)


def kl(logp, reference, **params):
    return REGULARIZERS["kl"](RegularizerInputs(logp, reference), {"coefficient": 1.0, **params}, {})[0]


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(F64, 1e-6), (F32, 1e-4)])
def test_kl_agrees_with_the_oracle(estimator, dtype, tolerance):
    random = np.random.default_rng(4)
    logp, reference = random.normal(-2, 3, 300), random.normal(-2, 3, 300)
    found = kl(torch.tensor(logp, dtype=dtype), torch.tensor(reference, dtype=dtype), estimator=estimator)
    np.testing.assert_allclose(found.numpy(), oracle.kl(logp, reference, estimator), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("estimator", "coefficient"), [
    ("k1", lambda _: 1.0), ("k2", lambda d: -d), ("k3", lambda d: 1 - math.exp(d)), ("k3+", lambda d: -d),
])
@pytest.mark.parametrize("d", [-0.7, 0.4])
def test_kl_gradients(estimator, coefficient, d):
    logp = torch.tensor([-1.0], dtype=F64, requires_grad=True)
    value = kl(logp, torch.tensor([-1.0 + d], dtype=F64), estimator=estimator)
    value.sum().backward()
    assert logp.grad is not None
    assert float(logp.grad) == pytest.approx(coefficient(d))
    if estimator == "k3+":
        assert value.item() == pytest.approx(math.exp(d) - 1 - d)


@pytest.mark.parametrize(("estimator", "d", "value"), [("k1", 30.0, -20.0), ("k2", 30.0, 200.0), ("k3", 5.0, 10.0)])
def test_kl_clamps_stop_value_and_gradient(estimator, d, value):
    logp = torch.zeros(1, dtype=F64, requires_grad=True)
    found = kl(logp, torch.tensor([d], dtype=F64), estimator=estimator)
    found.sum().backward()
    assert found.item() == value
    assert logp.grad is not None
    assert float(logp.grad) == 0


def test_kl_needs_a_reference_and_entropy_an_entropy():
    with pytest.raises(ValueError, match="logp_ref"):
        kl(torch.zeros(1), None)
    with pytest.raises(ValueError, match="entropy"):
        REGULARIZERS["entropy"](RegularizerInputs(torch.zeros(1)), {"coefficient": 0.1}, {})


def test_entropy_is_taken_off():
    inputs = RegularizerInputs(torch.zeros(2), entropy=torch.tensor([1.0, 3.0]))
    term, _, metrics = REGULARIZERS["entropy"](inputs, {"coefficient": 0.5}, {})
    assert (term.tolist(), metrics) == ([-0.5, -1.5], {"mean": 2.0})


def weights(name, tokens, max_tokens=16, **params):
    return AGGREGATIONS[name](AggregationInputs(np.array(tokens), max_tokens), params, {})[0]


@pytest.mark.parametrize(("name", "params", "expected"), [
    ("token-mean", {}, 0.36), ("seq-mean-token-mean", {}, 0.6), ("seq-mean-token-sum", {}, 1.8),
    ("seq-mean-token-sum-norm", {}, 0.1125), ("seq-mean-token-sum-norm", {"horizon": 8}, 0.225),
])
def test_aggregation_worked_numbers(name, params, expected):
    assert weights(name, [2, 8], **params) @ [2 * 1.0, 8 * 0.2] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_aggregations_agree_with_the_oracle(name):
    random = np.random.default_rng(3)
    values, mask = random.normal(size=(12, 9)), random.random((12, 9)) < 0.4
    mask[3] = False
    tokens = mask.sum(axis=1)
    counted = tokens > 0
    found = weights(name, tokens[counted], max_tokens=9) @ (values * mask).sum(axis=1)[counted]
    assert found == pytest.approx(oracle.aggregate(values, mask, name, horizon=9), abs=1e-12)
