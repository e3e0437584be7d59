"""MemOCR against the numbers of memocr.md, the oracle, and its exact properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.dr_grpo import dr_grpo
from hone.algorithms.advantages.memocr import MemocrParams, memocr
from hone.algorithms.inputs import AdvantageInputs
from hone.algorithms.method import Params
from hone.trajectory.turns import Turns
from tests.oracles import memocr as oracle

TASKS = ("std", "augM", "augQ")
TREE = [("draft", 1), ("read_std", 1), ("read_augM", 1), ("read_augQ", 1)]
EXAMPLE = [(0, dict(zip(TASKS, rewards, strict=True)), TREE) for rewards in [
    (1, 1, 0), (1, 0, 1), (0, 0, 1), (1, 0, 0)]]


def inputs(rollouts):
    """Rollouts of (group, {task: reward}, turns of (kind, tokens))."""
    flat = [(place, *turn) for place, rollout in enumerate(rollouts) for turn in rollout[2]]
    turns = Turns(
        np.array([turn[0] for turn in flat], np.int64), np.array([turn[2] for turn in flat], np.int64),
        np.zeros(len(flat)), np.arange(len(flat)), tuple(turn[1] for turn in flat))
    components = {task: np.array([rollout[1].get(task, math.nan) for rollout in rollouts], np.float64)
                  for task in TASKS}
    return AdvantageInputs(
        components["std"], np.array([rollout[0] for rollout in rollouts], np.int64),
        np.array([sum(turn[1] for turn in rollout[2]) for rollout in rollouts], np.int64),
        np.full(len(rollouts), np.nan), components=components, turns=turns)


def advantage(rollouts, **params):
    return memocr(inputs(rollouts), MemocrParams(**params), {})[0]


def by_role(rollouts, **params):
    return advantage(rollouts, **params).reshape(len(rollouts), 4).T


# Numbers and properties of memocr.md (a).

def test_a1_worked_numbers():
    np.testing.assert_allclose(by_role(EXAMPLE), [
        [0.3125, 0.1125, -0.3875, -0.0375], [0.25, 0.25, -0.75, 0.25], [0.525, -0.175, -0.175, -0.175],
        [-0.15, 0.15, 0.15, -0.15]], atol=1e-12)


def test_a2_drafting_advantages_of_a_group_sum_to_zero():
    assert by_role(EXAMPLE)[0].sum() == pytest.approx(0, abs=1e-12)


def test_a2_equal_rewards_give_drafts_any_readings_advantage():
    rollouts = [(0, dict.fromkeys(TASKS, reward), TREE) for reward in (1, 0, 0.25, 1)]
    drafts, *reads = by_role(rollouts, weighted_reads=False)
    for read in reads:
        np.testing.assert_allclose(drafts, read, atol=1e-12)


def test_a2_with_one_weight_drafts_are_grpo_without_deviation():
    drafts = by_role(EXAMPLE, w_std=1, w_augm=0, w_augq=0)[0]
    alone = AdvantageInputs(
        np.array([1, 1, 0, 1.0]), np.zeros(4, np.int64), np.ones(4, np.int64), np.full(4, np.nan))
    assert drafts.tolist() == dr_grpo(alone, Params(), {})[0].tolist()


def test_reading_advantages_without_their_weight():
    assert by_role(EXAMPLE, weighted_reads=False)[2].tolist() == [0.75, -0.25, -0.25, -0.25]


# Edge cases.

def test_every_token_of_every_draft_has_the_same_value():
    rollouts = [(group, rewards, [("draft", 2), ("draft", 0), ("draft", 3), ("read_std", 1)])
                for group, rewards, _ in EXAMPLE]
    found = advantage(rollouts).reshape(4, 6)
    assert found[:, :5].tolist() == np.repeat(by_role(EXAMPLE)[0], 5).reshape(4, 5).tolist()


def test_a_dropped_detail_leaves_the_mean_and_the_weights():
    rollouts = [(0, {"std": 1, "augM": 0}, TREE[:3]), *EXAMPLE[1:]]
    found = np.split(advantage(rollouts), [3, 7, 11])
    std, aug_m = 1 - 0.75, 0
    assert found[0].tolist() == pytest.approx([(std + 0.7 * aug_m) / 1.7, std, 0.7 * aug_m])
    assert found[1][3] == pytest.approx(0.3 * (1 - 2 / 3))


def test_a_task_that_only_one_rollout_has_carries_no_signal():
    rollouts = [(0, {"std": 1, "augQ": 1}, TREE), (0, {"std": 0}, TREE)]
    assert advantage(rollouts).tolist() == pytest.approx([0.5 / 1.3, 0.5, 0, 0, -0.5, -0.5, 0, 0])


def test_a_group_of_one_and_rewards_that_do_not_differ_are_exactly_zero():
    flat = [(0, dict.fromkeys(TASKS, 0.3 + place * 1e-9), TREE) for place in range(3)]
    lone = [(1, {"std": 1, "augM": 0, "augQ": 1}, TREE)]
    _, _, metrics = memocr(inputs(flat + lone), MemocrParams(), {})
    assert (advantage(flat + lone) == 0).all()
    assert (metrics["groups"], metrics["single_sample_groups"]) == (2, 1)


def test_no_weight_no_advantage():
    assert (advantage(EXAMPLE, w_std=0, w_augm=0, w_augq=0) == 0).all()


def test_metrics():
    _, _, metrics = memocr(inputs(EXAMPLE), MemocrParams(), {})
    assert metrics["combined_reward"] == pytest.approx((1.7 + 1.3 + 0.3 + 1) / 2 / 4)
    assert metrics["dropped_readings"] == 0
    _, _, metrics = memocr(inputs([(0, {"std": 1, "augM": 1}, TREE)]), MemocrParams(), {})
    assert metrics["combined_reward"] == pytest.approx(1)
    assert metrics["dropped_readings"] == 1


def test_needs_and_refusals():
    assert MemocrParams().needs() == {"turns", "components", "kinds"}
    with pytest.raises(ValueError, match="found read, expected one of draft"):
        advantage([(0, {"std": 1}, [("read", 1)])])
    bare = AdvantageInputs(np.ones(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.full(1, np.nan))
    with pytest.raises(ValueError, match="turns: found none"):
        memocr(bare, MemocrParams(), {})


# Oracle.

@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rollouts = []
    for _ in range(draw(st.integers(1, 10))):
        rewards = {task: float(np.round(random.random(), 1)) for task in TASKS if random.random() < 0.8}
        turns = [("draft", int(random.integers(1, 4))) for _ in range(random.integers(1, 3))]
        turns += [(f"read_{task}", int(random.integers(0, 3))) for task in TASKS]
        rollouts.append((int(random.integers(3)), rewards, turns))
    return rollouts


@given(batches(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_it_agrees_with_the_oracle(rollouts, weighted):
    np.testing.assert_allclose(
        advantage(rollouts, weighted_reads=weighted), oracle.memocr(rollouts, weighted_reads=weighted),
        rtol=1e-6, atol=1e-9)
