"""OPD, AOPD and the divergence on the teacher's likeliest ids, against the specification and the oracle."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.aopd import AopdParams, aopd, imitated
from hone.algorithms.advantages.opd import OpdParams, opd
from hone.algorithms.catalogue import LOSSES
from hone.algorithms.inputs import AdvantageInputs, LossInputs, RegularizerInputs, Support
from hone.algorithms.method import Method
from hone.algorithms.regularizers.local_divergence import (
    ContextDistillationParams,
    LocalDivergenceParams,
    context_distillation,
    divergence,
    local_divergence,
)
from tests.oracles import aopd as oracle

F64 = torch.float64
AOPD: Method[Any, Any] = Method(aopd, AopdParams)
OPD: Method[Any, Any] = Method(opd, OpdParams)
IMITATION: Method[Any, Any] = Method(local_divergence, LocalDivergenceParams)
SOFT: Method[Any, Any] = Method(context_distillation, ContextDistillationParams)
MODES, DIRECTIONS = ["tail_bucket", "truncated", "renorm"], ["forward", "reverse"]

TEACHER, STUDENT = np.array([0.70, 0.20, 0.08, 0.02]), np.array([0.10, 0.20, 0.30, 0.40])


def advantages(teacher, old, reward=(0.0,), tokens=None):
    tokens = [len(old)] if tokens is None else tokens
    return AdvantageInputs(
        np.array(reward, np.float64), np.zeros(len(reward), np.int64), np.array(tokens, np.int64),
        np.full(len(reward), np.nan), logp_old=np.array(old, np.float64), logp_teacher=np.array(teacher, np.float64))


def support(p_teacher, logits, k):
    """Of rows of probabilities [M, V] and of logits [M, V] with gradient."""
    logp, ids = logits.log_softmax(-1), p_teacher.argsort(dim=-1, descending=True)
    return Support(
        p_teacher.log().gather(1, ids[:, :k]), logp.gather(1, ids[:, :k]), logp.gather(1, ids[:, k:]).logsumexp(-1))


def logits_of(*rows):
    return torch.tensor(np.log(rows), dtype=F64, requires_grad=True)


def slope(tensor):
    assert tensor.grad is not None
    return tensor.grad.numpy()


def loss_and_gradient(sampled, p_teacher=TEACHER, p_student=STUDENT, k=2, policy=AOPD):
    """Token losses [M] of AOPD on-policy, or of OPD, and the gradient of their sum on the logits."""
    rows = len(sampled)
    logits, teacher = logits_of(*[p_student] * rows), torch.tensor(np.stack([p_teacher] * rows))
    logp = logits.log_softmax(-1)[torch.arange(rows), torch.tensor(sampled)]
    said, old = np.log(p_teacher)[sampled], np.log(p_student)[sampled]
    values, _, _ = policy(advantages(said, old), {}, {})
    loss = LOSSES["ppo_clip"](LossInputs(logp, logp.detach(), torch.tensor(values)), {}, {})[0]
    if policy is AOPD:
        inputs = RegularizerInputs(
            logp, logp_old=torch.tensor(old), logp_teacher=torch.tensor(said), support=support(teacher, logits, k))
        loss = loss + IMITATION(inputs, {}, {})[0]
    loss.sum().backward()
    return loss.detach().numpy(), slope(logits)


@pytest.mark.parametrize(("sampled", "advantage", "value", "gradient", "plain"), [
    (0, 1.9459, -1.9459, [-1.7513, 0.3892, 0.5838, 0.7784], [-1.7513, 0.3892, 0.5838, 0.7784]),
    (1, 0.0, 1.1675, [-0.6, 0.0, 0.2571, 0.3429], [0, 0, 0, 0]),
    (3, -2.9957, 1.1675, [-0.6, 0.0, 0.2571, 0.3429], [-0.2996, -0.5991, -0.8987, 1.7974]),
])
def test_worked_example_1(sampled, advantage, value, gradient, plain):
    given = advantages([math.log(TEACHER[sampled])], [math.log(STUDENT[sampled])])
    assert OPD(given, {}, {})[0][0] == pytest.approx(advantage, abs=5e-5)
    loss, found = loss_and_gradient([sampled])
    assert loss[0] == pytest.approx(value, abs=5e-5)
    np.testing.assert_allclose(found[0], gradient, atol=5.1e-5)
    np.testing.assert_allclose(loss_and_gradient([sampled], policy=OPD)[1][0], plain, atol=5.1e-5)


@pytest.mark.parametrize(("mode", "k", "value", "gradient"), [
    ("tail_bucket", 2, 1.1675, [-0.6, 0.0, 0.2571, 0.3429]),
    ("truncated", 2, 1.3621, [-0.61, -0.02, 0.27, 0.36]),
    ("renorm", 2, 0.4149, [1 / 3 - 7 / 9, 2 / 3 - 2 / 9, 0, 0]),
    ("tail_bucket", 4, 1.1965, STUDENT - TEACHER),
    ("truncated", 4, 1.1965, STUDENT - TEACHER),
])
def test_worked_example_1_modes(mode, k, value, gradient):
    logits = logits_of(STUDENT)
    distance = divergence(support(torch.tensor(TEACHER[None]), logits, k), mode, "forward")
    distance.sum().backward()
    assert distance.item() == pytest.approx(value, abs=5e-5)
    np.testing.assert_allclose(slope(logits)[0], gradient, atol=5.1e-5)


def test_worked_example_2_is_the_mean_over_both_regions():
    assert loss_and_gradient([0, 1, 3])[0].mean() == pytest.approx(0.1297, abs=5e-5)
    assert loss_and_gradient([0, 1, 3], policy=OPD)[0].mean() == pytest.approx(0.3499, abs=5e-5)


def test_experience_internalization_worked_example_1():
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.3, 0.3, 0.4])
    for direction, value, gradient in [("forward", 0.3734, [-0.4, 0.1, 0.3]),
                                       ("reverse", 0.4220, [-0.3808, -0.0050, 0.3857])]:
        logits = logits_of(q)
        distance = divergence(support(torch.tensor(p[None]), logits, 3), "tail_bucket", direction)
        distance.sum().backward()
        assert distance.item() == pytest.approx(value, abs=5e-5)
        np.testing.assert_allclose(slope(logits)[0], gradient, atol=5.1e-5)


def test_experience_internalization_worked_example_3_hard_form():
    logp = torch.tensor([-0.2, -1.1, -0.4], dtype=F64)
    assert LOSSES["mle"](LossInputs(logp, logp, logp), {}, {})[0].mean().item() == pytest.approx(0.5667, abs=5e-5)


def test_property_1_everything_reinforced_is_opd():
    random = np.random.default_rng(1)
    given = advantages(random.normal(-2, 3, 50), random.normal(-2, 1, 50))
    found = AOPD(given, {"kappa": -1000, "cap": None}, {})[0]
    assert (found == OPD(given, {"floor": -1000}, {})[0]).all()


def test_property_2_nothing_reinforced_is_distillation_whatever_the_old_policy_said():
    random = np.random.default_rng(2)
    teacher, logits = torch.tensor(random.dirichlet(np.ones(6), 5)), torch.tensor(random.normal(size=(5, 6)))
    found = []
    for old in (random.normal(-2, 1, 5), random.normal(-4, 1, 5)):
        assert (AOPD(advantages([-0.1] * 5, old), {"kappa": 1000}, {})[0] == 0).all()
        inputs = RegularizerInputs(
            torch.zeros(5, dtype=F64), logp_old=torch.tensor(old), logp_teacher=torch.full((5,), -0.1, dtype=F64),
            support=support(teacher, logits, 3))
        found.append(IMITATION(inputs, {"kappa": 1000}, {})[0])
    soft = SOFT(RegularizerInputs(torch.zeros(5, dtype=F64), support=inputs.support), {}, {})[0]
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], soft)
    assert (soft > 0).all()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_property_3_a_teacher_like_the_student_is_stationary_but_for_truncation(k):
    sampled = [0, 1, 2, 3]
    loss, gradient = loss_and_gradient(sampled, p_teacher=STUDENT, k=k)
    np.testing.assert_allclose(loss, 0, atol=1e-15)
    np.testing.assert_allclose(gradient, 0, atol=1e-15)
    logits = logits_of(STUDENT)
    divergence(support(torch.tensor(STUDENT[None]), logits, k), "truncated", "forward").sum().backward()
    assert (np.abs(slope(logits)).max() > 0.01) == (k < 4)


@st.composite
def positions(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vocabulary = draw(st.integers(2, 9))
    sharpness = draw(st.sampled_from([0.3, 1.0, 4.0]))
    teacher, student = (np.exp(sharpness * random.normal(size=(4, vocabulary))) for _ in range(2))
    k = draw(st.integers(1, vocabulary))
    return teacher / teacher.sum(1, keepdims=True), student / student.sum(1, keepdims=True), k


@given(positions())
@settings(max_examples=40, deadline=None)
def test_divergences_agree_with_the_oracle(case):
    teacher, student, k = case
    for mode in MODES:
        for direction in DIRECTIONS:
            found = divergence(support(torch.tensor(teacher), logits_of(*student), k), mode, direction)
            expected = [oracle.divergence(p, q, k, mode, direction) for p, q in zip(teacher, student, strict=True)]
            np.testing.assert_allclose(found.detach(), expected, rtol=1e-6, atol=1e-9, err_msg=f"{mode} {direction}")


@given(positions())
@settings(max_examples=30, deadline=None)
def test_forward_gradients_are_the_formulas_and_bounded_by_two(case):
    teacher, student, k = case
    for mode in MODES:
        logits = logits_of(*student)
        divergence(support(torch.tensor(teacher), logits, k), mode, "forward").sum().backward()
        expected = [oracle.gradient(p, q, k, mode) for p, q in zip(teacher, student, strict=True)]
        np.testing.assert_allclose(slope(logits), expected, rtol=1e-6, atol=1e-9, err_msg=mode)
        assert (np.abs(slope(logits)).sum(1) <= 2 + 1e-9).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_gradients_match_finite_differences_of_the_oracle(mode, direction):
    random, step = np.random.default_rng(7), 1e-5
    teacher, start = random.dirichlet(np.ones(5)), random.normal(size=5)
    logits = torch.tensor(start[None], requires_grad=True)
    divergence(support(torch.tensor(teacher[None]), logits, 3), mode, direction).sum().backward()

    def value(z):
        return oracle.divergence(teacher, np.exp(z) / np.exp(z).sum(), 3, mode, direction)

    slopes = [(value(start + step * e) - value(start - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(slope(logits)[0], slopes, atol=1e-8)


@given(positions(), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_property_6_neither_the_order_of_the_vocabulary_nor_padding_matters(case, seed):
    teacher, student, k = case
    order = np.random.default_rng(seed).permutation(teacher.shape[1])
    padded = torch.cat([logits_of(*student).detach(), torch.full((4, 3), -1e4, dtype=F64)], 1)
    wider = torch.tensor(np.pad(teacher, ((0, 0), (0, 3))))
    for mode in MODES:
        plain = divergence(support(torch.tensor(teacher), logits_of(*student), k), mode, "forward")
        moved = divergence(support(torch.tensor(teacher[:, order]), logits_of(*student[:, order]), k), mode, "forward")
        torch.testing.assert_close(moved, plain, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(divergence(support(wider, padded, k), mode, "forward"), plain.detach())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_floor_bounds_the_value_and_leaves_the_gradient(direction):
    logits = torch.tensor([[0.0, -900.0, -950.0]], dtype=F64, requires_grad=True)
    teacher = torch.tensor([[0.05, 0.9, 0.05]], dtype=F64)
    distance = divergence(support(teacher, logits, 2), "tail_bucket", direction)
    distance.sum().backward()
    if direction == "forward":
        first = 0.9 * (math.log(0.9) + 60) + 0.05 * (math.log(0.05) + 60)
        assert distance.item() == pytest.approx(first + 0.05 * math.log(0.05))
        np.testing.assert_allclose(slope(logits)[0], [0.95, -0.9, -0.05], atol=1e-12)
    else:
        assert distance.item() == pytest.approx(-math.log(0.05))
        np.testing.assert_allclose(slope(logits)[0], 0, atol=1e-12)


def test_an_impossible_id_among_the_teachers_counts_nothing_forward_and_is_floored_in_reverse():
    teacher = torch.tensor([[1.0, 0.0, 0.0]], dtype=F64)
    half = torch.tensor([[0.5, 0.5, 1e-30]], dtype=F64).log()
    inside = support(teacher, half, 2)
    assert divergence(inside, "tail_bucket", "forward").item() == pytest.approx(math.log(2))
    assert divergence(inside, "tail_bucket", "reverse").item() == pytest.approx(math.log(0.5) + 30)


@pytest.mark.parametrize("left", [0.0, 5e-7])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_a_rest_the_bucket_is_dropped(left, direction):
    teacher = torch.tensor([[0.7, 0.3 - left, left]], dtype=F64)
    found = []
    for mode in ("tail_bucket", "truncated"):
        logits = logits_of([0.2, 0.3, 0.5])
        value = divergence(support(teacher, logits, 2), mode, direction)
        value.sum().backward()
        found.append([value.item(), *slope(logits)[0]])
    assert found[0] == found[1]


def test_a_student_whose_support_is_everything_has_no_rest():
    kept = Support(torch.tensor([[0.6, 0.3]]).log(), torch.tensor([[0.5, 0.5]]).log(), torch.tensor([-math.inf]))
    found = divergence(kept, "tail_bucket", "forward").item()
    assert found == divergence(kept, "truncated", "forward").item()
    assert found == pytest.approx(0.6 * math.log(1.2) + 0.3 * math.log(0.6))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_everything_stays_finite(mode, direction):
    inf = math.inf
    kept = Support(
        torch.tensor([[-inf, -inf], [0.0, -inf], [-300.0, -1.0]]),
        torch.tensor([[-1.0, -2.0], [-inf, 0.0], [-1e4, -90.0]], requires_grad=True),
        torch.tensor([-0.5, -inf, -200.0], requires_grad=True))
    value = divergence(kept, mode, direction)
    value.sum().backward()
    assert value.isfinite().all()
    assert np.isfinite(slope(kept.student)).all()
    assert kept.rest.grad is None or kept.rest.grad.isfinite().all()


def test_a_token_the_teacher_cannot_say_is_imitated_and_finite_everywhere():
    given = advantages([-math.inf, -0.1], [-1.0, -1.0])
    values, _, metrics = AOPD(given, {"mix_outcome": True}, {})
    assert values.tolist() == [0.0, 0.9]
    assert metrics == {"reinforced_fraction": 0.5, "reinforced_mean": 0.9, "gap_min": 0.0}
    assert OPD(given, {}, {})[0].tolist() == [-59.0, 0.9]
    inputs = RegularizerInputs(
        torch.zeros(2), logp_old=torch.tensor([-1.0, -1.0]), logp_teacher=torch.tensor([-math.inf, -0.1]),
        support=Support(torch.tensor([[0.7], [0.7]]).log(), torch.tensor([[0.2], [0.2]]).log(),
                        torch.tensor([0.8, 0.8]).log()))
    term, _, metrics = IMITATION(inputs, {}, {})
    assert term[0] > 0
    assert term[1] == 0
    assert metrics["imitated_fraction"] == 0.5


def test_a_ratio_of_kappa_is_imitated_and_a_large_one_capped():
    given = advantages([-1.0, -0.5, -0.1], [-1.5, -1.0, -9.0])
    assert AOPD(given, {"kappa": 0.5}, {})[0].tolist() == [0.0, 0.0, 5.0]
    assert AOPD(given, {"kappa": 0.25, "cap": None}, {})[0].tolist() == [0.5, 0.5, 8.9]


def test_with_outcomes_each_token_is_either_reinforced_or_imitated():
    """GRPO adds 0.7071 and takes 0.7071 off: it moves the first token up into one region and the last down into the
    other one."""
    given = advantages([-1.5, -1.0, -1.0, -1.0], [-1.0, -3.0, -1.0, -1.5], reward=[1.0, 0.0], tokens=[2, 2])
    params = {"mix_outcome": True}
    values, _, _ = AOPD(given, params, {})
    np.testing.assert_allclose(values, [0.2071, 2.7071, 0, 0], atol=5e-5)
    left = imitated(given, AopdParams(**params))
    assert left.tolist() == [False, False, True, True]
    four = support(torch.tensor(np.stack([TEACHER] * 4)), logits_of(*[STUDENT] * 4), 2)
    inputs = RegularizerInputs(
        torch.zeros(4), logp_old=torch.tensor(given.logp_old), logp_teacher=torch.tensor(given.logp_teacher),
        support=four, imitated=torch.from_numpy(left))
    term, _, metrics = IMITATION(inputs, {}, {})
    assert (term != 0).tolist() == left.tolist()
    assert metrics["imitated_fraction"] == 0.5


def test_where_there_is_no_teachers_word_nothing_is_added():
    zeros = torch.zeros(2, dtype=F64)
    logits = logits_of(STUDENT, STUDENT)
    kept = support(torch.tensor(np.stack([TEACHER] * 2)), logits, 2)
    inputs = RegularizerInputs(
        zeros, logp_old=zeros, logp_teacher=zeros - 1, known=torch.tensor([True, False]), support=kept)
    for method in (IMITATION, SOFT):
        term, _, metrics = method(inputs, {"coefficient": 2.0}, {})
        np.testing.assert_allclose(term.detach(), [2 * 1.16753, 0], atol=1e-4)
        assert metrics == {"mean": pytest.approx(1.16753, abs=1e-4), "imitated_fraction": 0.5}
    term.sum().backward()
    assert (slope(logits)[1] == 0).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.7, -0.4]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_advantages_agree_with_the_oracle(seed, kappa, mixed):
    random = np.random.default_rng(seed)
    teacher, old = random.normal(-2, 3, 6), random.normal(-2, 1, 6)
    given = advantages(teacher, old, reward=[1.0, 0.0], tokens=[2, 4])
    z = 0.5 / (math.sqrt(0.5) + 1e-6)
    outcome = np.array([z, z, -z, -z, -z, -z]) * 0.5 * mixed
    found = AOPD(given, {"kappa": kappa, "cap": 2.0, "mix_outcome": mixed, "outcome_weight": 0.5}, {})[0]
    np.testing.assert_allclose(found, oracle.advantage(teacher, old, kappa, 2.0, outcome), rtol=1e-9, atol=1e-12)


@given(st.floats(-3, -0.1), st.floats(-3, -0.1), st.floats(-9, -0.1))
@settings(max_examples=40, deadline=None)
def test_both_regions_together_agree_with_the_oracle(logp, old, said):
    distance = oracle.divergence(TEACHER, STUDENT, 2, "tail_bucket", "forward")
    advantage = torch.tensor(AOPD(advantages([said], [old]), {}, {})[0])
    now, before, teacher = (torch.tensor([each], dtype=F64) for each in (logp, old, said))
    kept = support(torch.tensor(TEACHER[None]), logits_of(STUDENT).detach(), 2)
    term = IMITATION(RegularizerInputs(now, logp_old=before, logp_teacher=teacher, support=kept), {}, {})[0]
    total = LOSSES["ppo_clip"](LossInputs(now, before, advantage), {}, {})[0] + term
    assert total.item() == pytest.approx(oracle.token_loss(logp, old, said, 0.0, distance), rel=1e-6)


def test_needs_and_what_is_missing():
    assert AopdParams().needs() == {"logp_old", "logp_teacher"}
    assert LocalDivergenceParams().needs() == {"logp_old", "logp_teacher", "support"}
    assert LocalDivergenceParams(coefficient=0).needs() == frozenset()
    assert ContextDistillationParams().needs() == {"support"}
    bare = AdvantageInputs(np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1))
    with pytest.raises(ValueError, match="logp_teacher"):
        AOPD(bare, {}, {})
    with pytest.raises(ValueError, match="support"):
        SOFT(RegularizerInputs(torch.zeros(1)), {}, {})
    with pytest.raises(ValueError, match="logp_old"):
        IMITATION(RegularizerInputs(torch.zeros(1)), {}, {})
