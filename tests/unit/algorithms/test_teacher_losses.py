"""SCOPE's teacher losses: distances against the oracle and finite differences, and where the gradient stops."""

import math

import numpy as np
import pytest
import torch

from hone.algorithms.catalogue import LOSSES
from hone.algorithms.inputs import LossInputs, Support
from tests.oracles import scope as oracle

F64, F32 = torch.float64, torch.float32


def k3(logp, teacher, weight=None, known=None):
    weight = torch.ones_like(logp) if weight is None else weight
    values, _, metrics = LOSSES["teacher_k3"](
        LossInputs(logp, logp.detach(), weight, logp_teacher=teacher, known=known), {}, {})
    return values, metrics


def kl(student, teacher, weight, known=None):
    support = Support(teacher, student, torch.full((len(student),), -torch.inf, dtype=student.dtype))
    values, _, metrics = LOSSES["teacher_kl"](
        LossInputs(weight, weight, weight, support=support, known=known), {}, {})
    return values, metrics


def slope(values, leaf):
    return torch.autograd.grad(values.sum(), leaf)[0]


def drawn(seed, spread, dtype=F64):
    random = np.random.default_rng(seed)
    return [torch.tensor(random.normal(-3, spread, 300), dtype=dtype) for _ in range(2)] + [
        torch.tensor(random.gamma(1, 1, 300), dtype=dtype)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(F64, 1e-9), (F32, 1e-4)])
@pytest.mark.parametrize("spread", [1e-3, 0.5, 3.0, 20.0])
def test_k3_agrees_with_the_oracle(dtype, tolerance, spread):
    logp, teacher, weight = drawn(1, spread, dtype)
    logp.requires_grad_()
    values, _ = k3(logp, teacher, weight)
    expected = [oracle.k3(a, b) for a, b in zip(logp.tolist(), teacher.tolist(), strict=True)]
    found, slopes = values.detach().double(), slope(values, logp).double()
    scale = weight.double().numpy()
    np.testing.assert_allclose(found, scale * [value for value, _ in expected], rtol=tolerance, atol=tolerance * 1e-2)
    np.testing.assert_allclose(slopes, scale * [each for _, each in expected], rtol=tolerance, atol=tolerance)


def test_k3_gradient_matches_finite_differences():
    logp, teacher, weight = drawn(2, 0.6)
    assert torch.autograd.gradcheck(lambda x: k3(x, teacher, weight)[0], (logp.requires_grad_(),), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("d", [-0.7, 0.0, 0.4, 2.6])
def test_k3_pulls_towards_the_teacher(d):
    logp = torch.tensor([-3.0], dtype=F64, requires_grad=True)
    values, metrics = k3(logp, torch.tensor([-3.0 + d], dtype=F64), torch.tensor([1.5], dtype=F64))
    assert values.item() == pytest.approx(1.5 * (math.exp(d) - d - 1))
    assert slope(values, logp).item() == pytest.approx(1.5 * (1 - math.exp(d)))
    assert metrics == {"teacher_distance": pytest.approx(math.exp(d) - d - 1), "stopped_fraction": 0.0}


@pytest.mark.parametrize("d", [2.7, 30.0, -11.1, -25.0, -math.inf])
def test_k3_of_a_far_teacher_is_ten_without_gradient(d):
    logp = torch.tensor([-3.0], requires_grad=True)
    values, metrics = k3(logp, torch.tensor([-3.0 + d]), torch.tensor([2.0]))
    assert values.tolist() == [20.0]
    assert slope(values, logp).tolist() == [0.0]
    assert metrics == {"teacher_distance": 10.0, "stopped_fraction": 1.0}


@pytest.mark.parametrize(("dtype", "tolerance"), [(F64, 1e-9), (F32, 1e-4)])
def test_kl_agrees_with_the_oracle(dtype, tolerance):
    random = np.random.default_rng(3)
    student, teacher = (torch.tensor(random.normal(-3, 1.5, (80, 5)), dtype=dtype) for _ in range(2))
    weight = torch.tensor(random.gamma(1, 1, 80), dtype=dtype)
    values, metrics = kl(student, teacher, weight)
    expected = np.array([oracle.reverse_kl(*rows) for rows in zip(student.tolist(), teacher.tolist(), strict=True)])
    np.testing.assert_allclose(values, weight.numpy() * expected, rtol=tolerance, atol=tolerance)
    assert metrics["teacher_distance"] == pytest.approx(expected.mean(), rel=tolerance)


def test_kl_gradient_matches_finite_differences():
    random = np.random.default_rng(4)
    student, teacher = (torch.tensor(random.normal(-3, 1, (12, 4)), dtype=F64) for _ in range(2))
    weight = torch.tensor(random.gamma(1, 1, 12), dtype=F64)
    assert torch.autograd.gradcheck(lambda x: kl(x, teacher, weight)[0], (student.requires_grad_(),), atol=1e-6)


def test_kl_sees_no_mass_beside_the_ids():
    teacher = torch.tensor([[0.5, 0.3]], dtype=F64).log()
    assert kl(teacher - 1.0, teacher, torch.ones(1, dtype=F64))[0].item() == pytest.approx(0)


def test_a_token_without_a_word_is_out_of_the_sum():
    logp, known = torch.tensor([-1.0, -1.0], requires_grad=True), torch.tensor([True, False])
    values, metrics = k3(logp, torch.tensor([-2.0, -50.0]), known=known)
    assert values.tolist() == pytest.approx([math.exp(-1), 0.0])
    assert slope(values, logp)[1] == 0
    assert metrics == {"teacher_distance": pytest.approx(math.exp(-1) / 2), "stopped_fraction": 0.0}
    student = torch.tensor([[-1.0, -2.0], [-1.0, -2.0]], requires_grad=True)
    values, _ = kl(student, torch.tensor([[-2.0, -1.0], [-2.0, -torch.inf]]), torch.ones(2), known)
    assert values[0] > 0 == values[1]
    assert slope(values, student)[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("name", "missing"), [("teacher_k3", "logp_teacher"), ("teacher_kl", "support")])
def test_what_is_missing_is_named(name, missing):
    assert LOSSES[name].params().needs() == {missing}
    with pytest.raises(ValueError, match=f"{missing}: found none"):
        LOSSES[name](LossInputs(*(torch.zeros(2),) * 3), {}, {})


def test_some_tokens_have_all_that_they_had():
    logp = torch.arange(6.0)
    support = Support(logp[:, None], logp[:, None] + 1, logp + 2)
    whole = LossInputs(logp, logp + 10, logp + 20, torch.tensor([0, 0, 1, 1, 4, 4]), 5, logp + 30, logp + 40,
                       logp > 2, support)
    places = [1, 2, 5]
    some = whole.of(torch.tensor(places))
    for name in ("logp", "logp_old", "advantage", "trajectory", "unmodulated", "logp_teacher", "known"):
        assert torch.equal(getattr(some, name), getattr(whole, name)[places]), name
    for name in ("teacher", "student", "rest"):
        assert torch.equal(getattr(some.support, name), getattr(support, name)[places]), name
    assert some.trajectories == 5
    bare = LossInputs(logp, logp, logp).of(torch.tensor(places))
    assert (bare.trajectory, bare.unmodulated, bare.logp_teacher, bare.known, bare.support) == (None,) * 5
