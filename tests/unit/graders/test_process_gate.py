"""Process score and reward gate (v-tabler1.md) against its worked numbers and the oracle."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hone.algorithms.catalogue import ADVANTAGES, LOSSES
from hone.algorithms.inputs import AdvantageInputs, LossInputs
from hone.graders.process_gate import Gate, process_score
from tests.oracles import v_tabler1 as oracle

MODES, REDUCTIONS = ["gate", "threshold", "additive"], ["mean", "min", "geometric_mean"]
BIT, UNIT = st.sampled_from([0.0, 1.0]), st.floats(0, 1)


def gated(accuracy, form, scores, **params):
    gate = Gate(**params)
    return [gate.reward(*sample) for sample in zip(accuracy, form, scores, strict=True)]


def z_scores(rewards):
    rows = len(rewards)
    given = AdvantageInputs(np.array(rewards), np.zeros(rows, np.int64), np.ones(rows, np.int64), np.full(rows, np.nan))
    return ADVANTAGES["grpo"](given, {"std_ddof": 0}, {})[0]


ACCURACY, FORM, T = [1.0, 1.0, 1.0, 0.0], [1.0] * 4, [0.9, 0.2, 0.5, 0.6]


def test_1_the_gate_turns_the_lucky_guess_from_reinforced_to_punished():
    rewards = gated(ACCURACY, FORM, T)
    np.testing.assert_allclose(rewards, [0.9, 0.2, 0.5, 0.06], atol=1e-12)
    np.testing.assert_allclose(z_scores(rewards), [1.506272, -0.667729, 0.263986, -1.102529], atol=1e-6)
    ungated = gated(ACCURACY, FORM, [1.0] * 4)
    np.testing.assert_allclose(ungated, [1, 1, 1, 0.1], atol=1e-12)
    np.testing.assert_allclose(z_scores(ungated), [0.577349, 0.577349, 0.577349, -1.732046], atol=1e-6)


@pytest.mark.parametrize(("reduction", "expected"), [("mean", 0.725), ("min", 0.1), ("geometric_mean", 0.531830)])
def test_2_step_scores_reduce(reduction, expected):
    steps = [1, 0.8, 0.1, 1]
    assert process_score(steps, reduction) == pytest.approx(expected, abs=1e-6)
    assert math.prod(steps) == pytest.approx(0.08)


def test_4_a_perfect_critic_leaves_the_rule_rewards():
    for mode in ("gate", "threshold"):
        assert gated(ACCURACY, FORM, [1.0] * 4, mode=mode) == [0.9 * a + 0.1 * f
                                                               for a, f in zip(ACCURACY, FORM, strict=True)]


def test_4_equal_clips_are_grpo():
    random = np.random.default_rng(0)
    logp, old, advantage = (torch.from_numpy(random.normal(size=200)) for _ in range(3))
    given = LossInputs(logp, old, advantage)
    higher, plain = LOSSES["clip_higher"](given, {"high": 0.2}, {})[0], LOSSES["ppo_clip"](given, {}, {})[0]
    assert torch.equal(higher, plain)


@given(st.sampled_from(MODES), BIT, BIT, UNIT, UNIT)
def test_5_a_better_process_never_lowers_the_reward(mode, accuracy, form, one, other):
    worse, better = (gated([accuracy], [form], [score], mode=mode)[0] for score in sorted([one, other]))
    assert worse <= better


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_6_a_chain_without_steps_scores_0(reduction):
    assert process_score([], reduction) == 0
    assert gated([1.0], [1.0], [0.0]) == [0.0]


def test_equal_positive_scores_keep_the_ungated_advantage():
    np.testing.assert_allclose(
        z_scores(gated(ACCURACY, FORM, [0.4] * 4)), z_scores(gated(ACCURACY, FORM, [1.0] * 4)), atol=1e-5)


@pytest.mark.parametrize(("form", "bar"), [(1.0, 0.1), (0.0, 0.1 / 0.9)])
def test_a_wrong_answer_never_beats_a_right_one_above_the_bar(form, bar):
    wrong = gated([0.0], [1.0], [1.0])[0]
    above, below = (gated([1.0], [form], [bar + move])[0] for move in (1e-6, -1e-6))
    assert below < wrong < above
    assert wrong - gated([0.0], [1.0], [0.0])[0] == pytest.approx(0.1)


@given(st.sampled_from(MODES), st.sampled_from(REDUCTIONS), BIT, BIT, st.lists(UNIT, max_size=6))
def test_it_agrees_with_the_oracle(mode, reduction, accuracy, form, steps):
    score = oracle.process_score(steps, reduction)
    assert process_score(steps, reduction) == pytest.approx(score, abs=1e-6)
    found = gated([accuracy], [form], [process_score(steps, reduction)], mode=mode)[0]
    if abs(score - 0.5) > 1e-9:
        assert found == pytest.approx(oracle.reward(accuracy, form, score, mode), abs=1e-6)
