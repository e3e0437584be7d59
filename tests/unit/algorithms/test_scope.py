"""SCOPE against worked numbers, the oracle and the properties of its specification."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.advantages.opd import OpdParams, opd
from hone.algorithms.advantages.scope import ScopeParams, scope
from hone.algorithms.inputs import AdvantageInputs
from hone.algorithms.method import Method
from tests.oracles import scope as oracle

SCOPE: Method[Any, Any] = Method(scope, ScopeParams)


def inputs(outcome, student, teacher, group=None):
    group = [0] * len(outcome) if group is None else group
    return AdvantageInputs(
        np.array(outcome, np.float64), np.array(group, np.int64), np.array([len(row) for row in student], np.int64),
        np.full(len(outcome), np.nan), logp_old=np.concatenate(student).astype(float),
        logp_teacher=np.concatenate(teacher).astype(float))


def of_perplexities(perplexities, correct, **params):
    """Weights of one-token trajectories."""
    rows = [[-math.log(each)] for each in perplexities]
    other = [[-1.0]] * len(rows)
    given = inputs([float(correct)] * len(rows), rows if correct else other, other if correct else rows)
    own, taught = SCOPE(given, params, {})[0]
    return own.advantage if correct else taught.advantage / (given.logp_teacher - given.logp_old)


def losses(tracks, given):
    """L_c and L_w at ratio 1, where the policy loss is -A."""
    own, taught = tracks
    first = -(own.advantage * given.logp_old)[own.counts].sum() / max(1, own.counts.sum())
    return first, -taught.advantage[taught.counts].sum() / max(1, taught.counts.sum())


@pytest.mark.parametrize(("perplexities", "correct", "tau", "expected"), [
    ((1.2, 2.6, 3.8), True, 1.0, (0.1579, 0.3421, 0.5000)),
    ((1.2, 2.6, 3.8), True, 2.0, (0.2352, 0.3462, 0.4186)),
    ((4.5, 2.9, 1.7), False, 1.0, (0.1924, 0.2985, 0.5092)),
    ((4.5, 2.9, 1.7), False, 2.0, (0.2582, 0.3217, 0.4201)),
])
def test_worked_example_1(perplexities, correct, tau, expected):
    np.testing.assert_allclose(of_perplexities(perplexities, correct, tau=tau) / 3, expected, atol=5.1e-5)


def test_worked_example_1_scaled():
    np.testing.assert_allclose(of_perplexities((1.2, 2.6, 3.8), True), (0.4737, 1.0263, 1.5000), atol=5.1e-5)


OUTCOME = [1.0, 1.0, 0.0, 0.0]
STUDENT = [[-0.1, -0.3], [-1, -0.5, -0.9], [-0.2, -0.4], [-0.5] * 4]
TEACHER = [[-0.1, -0.1], [-0.2, -0.2, -0.2], [-1.2, -0.4], [-2.5, -0.5, -3, -2]]


def test_worked_example_2():
    given = inputs(OUTCOME, STUDENT, TEACHER)
    tracks, _, metrics = SCOPE(given, {}, {})
    own, taught = tracks
    np.testing.assert_allclose(own.advantage, [0.7087] * 2 + [1.2913] * 3 + [0] * 6, atol=5.1e-5)
    np.testing.assert_allclose(taught.advantage, [0] * 5 + [-1.5370, 0, -0.9259, 0, -1.1574, -0.6944], atol=1.01e-4)
    assert (own.loss, taught.loss) == ("reinforce", "policy")
    np.testing.assert_allclose(losses(tracks, given), (0.6765, 0.7191), atol=5.1e-5)
    assert metrics["correct_fraction"] == 0.5
    assert metrics["teacher_weight_max"] == pytest.approx(1.5370, abs=5e-5)
    legacy = SCOPE(given, {"legacy_denominator": True}, {})[0]
    np.testing.assert_allclose(losses(legacy, given), (0.6765, 0.3923), atol=5.1e-5)


def test_worked_example_2_in_the_loss():
    given = inputs(OUTCOME, STUDENT, TEACHER)
    own, taught = SCOPE(given, {"teacher_path": "in_loss"}, {})[0]
    np.testing.assert_allclose(taught.advantage, [0] * 5 + [1.5370] * 2 + [0.4630] * 4, atol=5.1e-5)
    assert (own.loss, taught.loss) == ("reinforce", "teacher_k3")
    assert taught.counts.tolist() == [False] * 5 + [True] * 6
    k3 = [math.exp(-d) + d - 1 for d in (1.0, 0.0, 2.0, 0.0, 2.5, 1.5)]
    assert taught.advantage[5:] @ k3 / 6 == pytest.approx(0.3597, abs=5.1e-5)
    weights = oracle.weights(OUTCOME, [0] * 4, STUDENT, TEACHER)
    distances = [[oracle.k3(*both)[0] for both in zip(*rows, strict=True)]
                 for rows in zip(STUDENT, TEACHER, strict=True)]
    assert taught.advantage[5:] @ k3 / 6 == pytest.approx(oracle.in_loss(OUTCOME, weights, distances))


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(1, 10))
    lengths = random.integers(1, 6, rows)
    student, teacher = ([-random.gamma(1, draw(st.sampled_from([1.0, 6.0])), n) for n in lengths] for _ in range(2))
    return random.integers(0, 2, rows).tolist(), student, teacher, random.integers(0, 3, rows).tolist()


@given(batches(), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([1, -1]), st.sampled_from([1, -1]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_weights_and_losses_agree_with_the_oracle(batch, tau, student_sign, teacher_sign, legacy):
    outcome, student, teacher, group = batch
    given = inputs(outcome, student, teacher, group)
    signs = {"tau": tau, "student_sign": student_sign, "teacher_sign": teacher_sign}
    tracks = SCOPE(given, {**signs, "legacy_denominator": legacy}, {})[0]
    weight = oracle.weights(outcome, group, student, teacher, **signs)
    for track, correct in zip(tracks, (1, 0), strict=True):
        chosen = np.repeat([each == correct for each in outcome], given.tokens)
        scale = 1.0 if correct else given.logp_teacher - given.logp_old
        expected = np.where(chosen, np.repeat(weight, given.tokens) * scale, 0.0)
        np.testing.assert_allclose(track.advantage, expected, rtol=1e-6, atol=1e-9)
    sums = oracle.losses(outcome, weight, student, teacher, legacy)
    np.testing.assert_allclose(losses(tracks, given), sums, rtol=1e-6, atol=1e-9)


@given(batches(), st.sampled_from([0.5, 3.0]), st.sampled_from([1, -1]))
@settings(max_examples=30, deadline=None)
def test_in_the_loss_the_teacher_path_weighs_its_distance_as_the_oracle_does(batch, tau, teacher_sign):
    outcome, student, teacher, group = batch
    given = inputs(outcome, student, teacher, group)
    params = {"tau": tau, "teacher_sign": teacher_sign}
    (own, plain), (also, taught) = (SCOPE(given, {**params, "teacher_path": path}, {})[0]
                                    for path in ("in_advantage", "in_loss"))
    np.testing.assert_array_equal(own.advantage, also.advantage)
    np.testing.assert_array_equal(plain.counts, taught.counts)
    weight = oracle.weights(outcome, group, student, teacher, **params)
    k3 = [[oracle.k3(*both)[0] for both in zip(*rows, strict=True)] for rows in zip(student, teacher, strict=True)]
    found = (taught.advantage * np.concatenate(k3))[taught.counts].sum() / max(1, taught.counts.sum())
    assert found == pytest.approx(oracle.in_loss(outcome, weight, k3))
    assert not taught.advantage[~taught.counts].any()


def test_property_1_a_large_tau_weighs_all_alike():
    own, taught = SCOPE(inputs(OUTCOME, STUDENT, TEACHER), {"tau": 1e6}, {})[0]
    np.testing.assert_allclose(own.advantage[:5], 1, atol=1e-5)
    np.testing.assert_allclose(taught.advantage[5:], np.concatenate(TEACHER[2:]) - np.concatenate(STUDENT[2:]),
                               rtol=1e-5)


def test_property_2_and_4_weights_ignore_a_shift_and_copies():
    plain = of_perplexities((1.2, 2.6, 3.8), True)
    np.testing.assert_allclose(of_perplexities((2.4, 5.2, 7.6), True), plain)
    np.testing.assert_allclose(of_perplexities((1.2, 2.6, 3.8) * 3, True), np.tile(plain, 3))
    plain = of_perplexities((4.5, 2.9, 1.7), False)
    np.testing.assert_allclose(of_perplexities((9.0, 5.8, 3.4), False), plain)


def test_property_3_the_weights_of_a_set_add_up_to_its_size():
    assert of_perplexities((1.2, 2.6, 3.8, 9.1), True).sum() == pytest.approx(4)
    assert of_perplexities((4.5, 2.9, 1.7), False).sum() == pytest.approx(3)


def test_property_5_all_wrong_and_unweighted_is_opd_and_all_correct_is_fine_tuning():
    wrong = inputs([0, 0, 0, 0], STUDENT, TEACHER)
    own, taught = SCOPE(wrong, {"tau": 1e6}, {})[0]
    assert not own.counts.any()
    assert taught.counts.all()
    np.testing.assert_allclose(taught.advantage, opd(wrong, OpdParams(), {})[0], atol=1e-5)
    own, taught = SCOPE(inputs([1, 1, 1, 1], STUDENT, TEACHER), {"tau": 1e6}, {})[0]
    np.testing.assert_allclose(own.advantage, 1, atol=1e-5)
    assert own.counts.all()
    assert not taught.counts.any()


def test_property_6_correct_trajectories_are_not_taught():
    for legacy in (False, True):
        taught = SCOPE(inputs(OUTCOME, STUDENT, TEACHER), {"legacy_denominator": legacy}, {})[0][1]
        assert (taught.advantage[:5] == 0).all()


def test_property_7_order():
    assert (np.diff(of_perplexities((1.1, 2.0, 3.0, 40.0), True)) > 0).all()
    assert (np.diff(of_perplexities((1.1, 2.0, 3.0, 40.0), False)) < 0).all()
    assert (np.diff(of_perplexities((1.1, 2.0, 3.0, 40.0), True, student_sign=-1)) < 0).all()
    assert (np.diff(of_perplexities((1.1, 2.0, 3.0, 40.0), False, teacher_sign=-1)) > 0).all()


@pytest.mark.parametrize("correct", [True, False])
def test_a_single_member_weighs_exactly_one(correct):
    assert of_perplexities((7.0,), correct).tolist() == [1.0]


def test_mean_log_probabilities_below_eight_nats_weigh_alike():
    own = of_perplexities((math.exp(8), math.exp(9), math.exp(300)), True)
    np.testing.assert_allclose(own, 1)


def test_rewards_up_to_the_threshold_are_wrong():
    own, taught = SCOPE(inputs([0.5, 0.6], [[-1.0], [-1.0]], [[-2.0], [-2.0]]), {"threshold": 0.5}, {})[0]
    assert own.counts.tolist() == [False, True]
    assert taught.counts.tolist() == [True, False]


def test_a_token_the_teacher_cannot_say_stays_finite():
    own, taught = SCOPE(inputs([0, 0], [[-1.0, -1.0], [-1.0]], [[-math.inf, -0.5], [-0.5]]), {}, {})[0]
    q = math.exp(-8 + 0.5) / (1 + math.exp(-8 + 0.5))
    np.testing.assert_allclose(taught.advantage, [2 * q * -59, 2 * q * 0.5, 2 * (1 - q) * 0.5])
    assert (own.advantage == 0).all()


def test_needs_and_what_is_missing():
    assert ScopeParams().needs() == ScopeParams(teacher_path="in_loss").needs() == {"logp_old", "logp_teacher"}
    assert ScopeParams(teacher_path="in_loss_top_k").needs() == {"logp_old", "logp_teacher", "support"}
    with pytest.raises(ValueError, match="logp_teacher"):
        SCOPE(AdvantageInputs(np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1)), {}, {})


def test_on_the_likeliest_ids_the_weights_are_those_of_the_sampled_ones():
    given = inputs(OUTCOME, STUDENT, TEACHER)
    one, other = (SCOPE(given, {"teacher_path": path}, {})[0][1] for path in ("in_loss", "in_loss_top_k"))
    np.testing.assert_array_equal(one.advantage, other.advantage)
    assert other.loss == "teacher_kl"


@pytest.mark.parametrize("path", ["in_loss", "in_loss_top_k"])
def test_in_the_loss_there_is_one_denominator(path):
    with pytest.raises(ValidationError, match=f"expected false with teacher_path {path}"):
        ScopeParams(teacher_path=path, legacy_denominator=True)


@pytest.mark.parametrize("path", ["in_loss", "in_loss_top_k"])
def test_in_the_loss_a_token_the_teacher_cannot_say_stays_finite(path):
    given = inputs([0, 0], [[-1.0, -1.0], [-1.0]], [[-math.inf, -0.5], [-0.5]])
    _, taught = SCOPE(given, {"teacher_path": path}, {})[0]
    q = math.exp(-8 + 0.5) / (1 + math.exp(-8 + 0.5))
    np.testing.assert_allclose(taught.advantage, [2 * q, 2 * q, 2 * (1 - q)])


def test_a_trajectory_that_was_cut_off_is_wrong_whatever_its_reward():
    """Worked example 2 with y2 cut off: y1 is the only correct one and weighs 1; y2 is taught beside y3 and y4."""
    given = replace(inputs(OUTCOME, STUDENT, TEACHER), truncated=np.array([False, True, False, False]))
    own, taught = SCOPE(given, {}, {})[0]
    assert own.advantage[own.counts].tolist() == [1.0] * 2
    assert taught.counts.tolist() == [False] * 2 + [True] * 9
    wrong = inputs([1.0, 0.0, 0.0, 0.0], STUDENT, TEACHER)
    assert taught.advantage.tolist() == SCOPE(wrong, {}, {})[0][1].advantage.tolist()
