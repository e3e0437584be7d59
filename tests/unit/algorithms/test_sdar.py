"""SDAR's gates in both forms and RLSD, against worked numbers, the oracle and the properties of the specification."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.catalogue import LOSSES, MODULATIONS
from hone.algorithms.inputs import LossInputs, ModulationInputs, RegularizerInputs
from hone.algorithms.method import Method
from hone.algorithms.modulations.sdar import RlsdParams, SdarModulationParams
from hone.algorithms.regularizers.sdar import SdarParams, sdar
from tests.oracles import sdar as oracle

F64 = torch.float64
SDAR: Method[Any, Any] = Method(sdar, SdarParams)
MODULATED: Method[Any, Any] = MODULATIONS["sdar"]
RLSD: Method[Any, Any] = MODULATIONS["rlsd"]
TEACHER, STUDENT = [-0.05, -2.3, -0.7, -1.2], [-0.5, -0.6, -0.7, -0.2]
ENTROPY = [0.3, 1.1, 0.05, 0.8]


def side(teacher=TEACHER, student=STUDENT, entropy=ENTROPY, known=None, **params):
    """L_aux's summands, their slope on logp, metrics."""
    logp, said, h = (torch.tensor(each, dtype=F64, requires_grad=True) for each in (student, teacher, entropy))
    inputs = RegularizerInputs(
        logp, entropy=h, logp_teacher=said, known=None if known is None else torch.tensor(known))
    term, _, metrics = SDAR(inputs, {"coefficient": 1.0, **params}, {})
    term.sum().backward()
    assert said.grad is None
    assert h.grad is None
    assert logp.grad is not None
    return term.detach().numpy(), logp.grad.numpy(), metrics


def modulated(method, advantage, teacher=TEACHER, student=STUDENT, known=None, step=0, **params):
    inputs = ModulationInputs(
        np.array(advantage, np.float64), np.array([len(advantage)]), logp_old=np.array(student, np.float64),
        entropy=np.array(ENTROPY), logp_teacher=np.array(teacher, np.float64),
        known=None if known is None else np.array(known), step=step)
    return method(inputs, params, {})[0]


@pytest.mark.parametrize(("beta", "gate", "value", "weight"), [
    (0.0, [0.5, 0.5, 0.5, 0.5], -0.28125, [0.125] * 4),
    (1.0, [0.6106, 0.1545, 0.5, 0.2689], -0.06419, [0.1527, 0.0386, 0.125, 0.0672]),
    (5.0, [0.9047, 0.0002, 0.5, 0.0067], 0.10001, [0.2262, 0.0001, 0.125, 0.0017]),
])
def test_worked_example_1(beta, gate, value, weight):
    terms, slope, metrics = side(beta=beta)
    np.testing.assert_allclose(-slope, gate, atol=5.1e-5)
    assert terms.mean() == pytest.approx(value, abs=5e-6)
    np.testing.assert_allclose(-slope / 4, weight, atol=5.1e-5)
    assert metrics["gate"] == pytest.approx(np.mean(gate), abs=5e-5)
    assert metrics["gap"] == pytest.approx(-2.25 / 4)


@pytest.mark.parametrize(("gate", "expected"), [
    ("entropy", [0.8176, 0.9959, 0.5622, 0.9820]), ("soft_or", [0.9558, 0.9983, 0.5622, 0.9526]),
])
def test_worked_example_2(gate, expected):
    np.testing.assert_allclose(-side(gate=gate)[1], expected, atol=5.1e-5)
    np.testing.assert_allclose(modulated(MODULATED, [0.0] * 4, gate=gate, coefficient=1.0), expected, atol=5.1e-5)


tokens = st.lists(
    st.tuples(st.floats(-9, 0), st.floats(-9, 0), st.floats(0, 5), st.booleans()), min_size=1, max_size=8)


@given(tokens, st.sampled_from(["gap", "entropy", "soft_or"]), st.floats(0, 6), st.sampled_from([0.0, 0.4]))
@settings(max_examples=60, deadline=None)
def test_the_term_and_its_slope_agree_with_the_oracle(case, gate, beta, negative):
    teacher, student, entropy, known = (list(each) for each in zip(*case, strict=True))
    terms, slope, metrics = side(teacher, student, entropy, known, gate=gate, beta=beta, neg_coef=negative)
    np.testing.assert_allclose(
        terms, oracle.side(gate, beta, negative, teacher, student, entropy, known), rtol=1e-6, atol=1e-9)
    gates = [oracle.gate(gate, beta, t - s, h) for t, s, h, _ in case]
    expected = [-oracle.factor(g, negative) * m for g, m in zip(gates, known, strict=True)]
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-9)
    assert metrics["known_fraction"] == pytest.approx(np.mean(known))


def test_property_1_without_a_coefficient_there_is_no_term():
    terms, slope, _ = side(coefficient=0.0)
    assert (terms == 0).all()
    assert (slope == 0).all()
    assert (modulated(MODULATED, [0.3] * 4, coefficient=0.0) == 0.3).all()


def test_property_2_a_steep_gate_is_the_sign_of_the_gap():
    np.testing.assert_allclose(-side(beta=1e4)[1], [1, 0, 0.5, 0], atol=1e-12)


def test_property_3_without_a_gate_the_expected_slope_is_nothing():
    logits = torch.tensor([0.3, -1.0, 0.8, 0.0, -0.4], dtype=F64, requires_grad=True)
    logp = logits.log_softmax(-1)
    teacher = torch.tensor([-1.0, -2.0, -0.3, -4.0, -3.0], dtype=F64)
    term = SDAR(RegularizerInputs(logp, logp_teacher=teacher), {"coefficient": 1.0, "beta": 0.0}, {})[0]
    (logp.exp().detach() * term).sum().backward()
    assert logits.grad is not None
    np.testing.assert_allclose(logits.grad.numpy(), 0, atol=1e-15)


def test_property_4_a_teacher_like_the_student_leaves_every_gate_half_open():
    terms, slope, metrics = side(teacher=STUDENT)
    assert (terms == 0).all()
    assert (slope == -0.5).all()
    assert metrics["endorsed_fraction"] == 0


def test_property_6_the_term_is_an_advantage_of_lambda_times_the_gate():
    advantage = torch.tensor([0.4, -1.0, 0.2, 0.0], dtype=F64)
    old = torch.tensor(STUDENT, dtype=F64)
    slopes = []
    for values, extra in ((advantage, True), (modulated(MODULATED, advantage.numpy(), coefficient=0.3), False)):
        logp = old.clone().requires_grad_()
        loss = LOSSES["reinforce"](LossInputs(logp, old, torch.as_tensor(values)), {}, {})[0]
        if extra:
            inputs = RegularizerInputs(logp, logp_teacher=torch.tensor(TEACHER, dtype=F64))
            loss = loss + SDAR(inputs, {"coefficient": 0.3}, {})[0]
        loss.sum().backward()
        slopes.append(logp.grad)
    torch.testing.assert_close(slopes[0], slopes[1])


def test_property_7_a_kinder_teacher_opens_every_gate():
    plain, kinder = side()[1], side(teacher=[each + 0.2 for each in TEACHER])[1]
    assert (kinder < plain).all()


def test_where_there_is_no_teachers_word_nothing_is_added():
    known = [True, False, False, True]
    terms, slope, metrics = side(known=known)
    assert ((terms == 0) == [False, True, True, False]).all()
    assert ((slope == 0) == [False, True, True, False]).all()
    assert metrics["gate"] == pytest.approx((0.9047 + 0.0067) / 2, abs=5e-5)
    assert ((modulated(MODULATED, [0.0] * 4, known=known) == 0) == [False, True, True, False]).all()
    terms, _, metrics = side(known=[False] * 4)
    assert (terms == 0).all()
    assert metrics == {"gate": 0.0, "endorsed_fraction": 0.0, "gap": 0.0, "known_fraction": 0.0}


@pytest.mark.parametrize("gate", ["gap", "entropy", "soft_or"])
def test_a_token_the_teacher_cannot_say_stays_finite(gate):
    teacher = [-math.inf, -1e30, -0.7, 0.0]
    terms, slope, _ = side(teacher=teacher, gate=gate, neg_coef=0.5)
    assert np.isfinite(terms).all()
    assert np.isfinite(slope).all()
    assert np.isfinite(modulated(MODULATED, [1.0] * 4, teacher, gate=gate, beta=1e4)).all()
    assert np.isfinite(modulated(RLSD, [1.0, -1.0, 0.0, 1.0], teacher)).all()


@given(st.floats(-3, 3), st.floats(-6, 6), st.integers(0, 80))
@settings(max_examples=50, deadline=None)
def test_rlsd_agrees_with_the_oracle(advantage, delta, step):
    found = modulated(RLSD, [advantage], teacher=[-7 + delta], student=[-7], step=step)
    assert found[0] == pytest.approx(oracle.rlsd(advantage, -7 + delta + 7, step), rel=1e-9, abs=1e-12)


def test_rlsd_fades_and_leaves_unknown_tokens_alone():
    assert modulated(RLSD, [1.0, 1.0, 0.0, -1.0]).tolist() == pytest.approx([1.1, 0.9, 0.0, -1.1])
    assert modulated(RLSD, [1.0, 1.0, 0.0, -1.0], step=50).tolist() == [1.0, 1.0, 0.0, -1.0]
    assert modulated(RLSD, [1.0] * 4, known=[False] * 4).tolist() == [1.0] * 4


def test_needs_and_what_is_missing():
    assert SdarParams().needs() == {"logp_teacher"}
    assert SdarParams(gate="soft_or").needs() == {"logp_teacher", "entropy"}
    assert SdarParams(coefficient=0).needs() == frozenset()
    assert SdarModulationParams(gate="entropy").needs() == {"logp_teacher", "logp_old", "entropy"}
    assert RlsdParams().needs() == {"logp_teacher", "logp_old"}
    with pytest.raises(ValueError, match="logp_teacher"):
        SDAR(RegularizerInputs(torch.zeros(1)), {}, {})
    with pytest.raises(ValueError, match="entropy"):
        SDAR(RegularizerInputs(torch.zeros(1), logp_teacher=torch.zeros(1)), {"gate": "entropy"}, {})
    with pytest.raises(ValueError, match="logp_old"):
        RLSD(ModulationInputs(np.zeros(1), np.ones(1, np.int64)), {}, {})


@pytest.mark.parametrize("method", [MODULATED, RLSD])
def test_both_modulations_compare_the_teacher_with_the_current_weights(method):
    before = ModulationInputs(np.ones(4), np.array([4]), logp_old=np.array(STUDENT), logp_teacher=np.array(TEACHER))
    moved = np.add(STUDENT, [0.3, -0.2, 0.5, -0.9])
    later = replace(before, logp=moved)
    assert method(later, {}, {})[0].tolist() == method(replace(before, logp_old=moved), {}, {})[0].tolist()
    assert method(later, {}, {})[0].tolist() != method(before, {}, {})[0].tolist()
    assert method.every_update
