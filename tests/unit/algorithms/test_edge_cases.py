"""Edge cases of the specs in one table. Each row names the spec, the case, and the exact result."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.methods.internalization import InternalizationParams, internalization, omega
from hone.algorithms.advantages.aopd import AopdParams, aopd
from hone.algorithms.advantages.hian import HianParams, hian
from hone.algorithms.catalogue import ADVANTAGES, CORRECTIONS, LOSSES, MODULATIONS, REGULARIZERS
from hone.algorithms.inputs import (
    AdvantageInputs,
    CorrectionInputs,
    LossInputs,
    ModulationInputs,
    RegularizerInputs,
    Support,
)
from hone.trajectory.turns import Turns

PARTS = ("r_rank", "r_dist", "std", "augM", "augQ", "exec", "fmt", "schema")
KINDS = {"memocr": "read_std", "heavyskill": "deliberate"}


def step(name, groups, kind="say", tokens=3):
    """Groups of rewards, one turn a trajectory; every part of a reward is the reward, of a turn it is nothing."""
    reward = np.array([reward for group in groups for reward in group], np.float64)
    group = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    count, total = len(reward), tokens * len(reward)
    old = np.linspace(-3, -1, total)
    turns = Turns(np.arange(count), np.full(count, tokens), np.zeros(count), np.zeros(count, np.int64),
                  (KINDS.get(name, kind),) * count, {"one": np.zeros(count)})
    return AdvantageInputs(
        reward, group, np.full(count, tokens), np.full(count, np.nan), np.zeros(total), old, old - 0.5,
        np.zeros(total), dict.fromkeys(PARTS, reward), {"schema": np.ones(total, bool)}, turns)


def found(name, groups):
    """Return the advantages of all tracks that weigh by comparison, [., M]."""
    answer, _, _ = ADVANTAGES[name](step(name, groups, "play"), {}, {})
    if not isinstance(answer, list):
        return answer[None]
    return np.stack([track.advantage for track in answer if track.loss == "policy"])


COMPARING = ("grpo", "dr_grpo", "rloo", "reinforce_pp_baseline", "gdpo", "gigpo", "step_pooled", "hian", "dual_track",
             "skill1", "memocr", "heavyskill", "rdpo", "dpo")
"""Estimators that compare a trajectory with its group: baselines.md, hipif.md, duca.md, trust-sql.md, skill1.md, ..."""

ALONE = tuple(name for name in COMPARING if name not in ("reinforce_pp_baseline", "gdpo", "rdpo", "dpo"))
"""Those of them that read nothing beyond the group; dpo reads pairs alone."""


@pytest.mark.parametrize("name", COMPARING)
@pytest.mark.parametrize("groups", [
    pytest.param([[1.0]], id="a group of one"),
    pytest.param([[0.3, 0.3, 0.3]], id="zero variance"),
    pytest.param([[1.0, 1.0], [0.0]], id="zero variance beside a group of one"),
    pytest.param([[0.1 + 0.2, 0.3, 0.3]], id="a difference of rounding"),
    pytest.param([[1e9, 1e9]], id="large and equal"),
])
def test_baselines_nothing_to_compare_is_exactly_zero(name, groups):
    assert not found(name, groups).any()


@pytest.mark.parametrize("name", COMPARING)
def test_baselines_a_flat_group_stays_exactly_zero_beside_one_that_varies(name):
    advantage = found(name, [[1.0, 0.0], [0.7, 0.7], [0.2]])
    assert advantage[:, :6].any()
    assert not advantage[:, 6:].any()


@pytest.mark.parametrize("name", ALONE)
def test_baselines_ragged_groups_do_not_see_each_other(name):
    groups = [[1.0, 0.0], [0.3, 0.1, 0.9, 0.2, 0.2], [0.5], [2.0, -1.0, 0.5]]
    together = found(name, groups)
    np.testing.assert_allclose(together, np.concatenate([found(name, [each]) for each in groups], axis=1), atol=1e-12)


@pytest.mark.parametrize("name", ALONE)
def test_baselines_advantages_of_a_group_sum_to_zero(name):
    advantage = found(name, [[0.3, 0.1, 0.9, 0.2, 0.2]])
    np.testing.assert_allclose(advantage.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize(("spec", "name", "part"), [
    ("trust-sql", "dual_track", "exec"), ("memocr", "memocr", "std"), ("skill1", "skill1", "r_dist"),
])
def test_a_sample_without_this_part_of_a_reward_is_no_member(spec, name, part):
    """The others score as if it were not there; here nothing else of the reward differs."""
    def scored(values):
        given = step(name, [[0.0] * len(values)], "distill")
        answer = ADVANTAGES[name](replace(given, components={**given.components, part: np.array(values)}), {}, {})[0]
        tracks = [track.advantage for track in answer] if isinstance(answer, list) else [answer]
        return np.stack(tracks)

    ours, theirs = scored([1.0, 0.0, 0.5, np.nan]), scored([1.0, 0.0, 0.5])
    assert theirs.any(), spec
    np.testing.assert_allclose(ours[:, :9], theirs, atol=1e-12, err_msg=spec)
    assert not ours[:, 9:].any()


# Rows without a token, and rows that are left out.

def test_duca_a_session_of_one_turn_is_valid():
    given = step("hian", [[1.0, 0.0]])
    values, _, _ = hian(given, HianParams(w_turn=0), {})
    np.testing.assert_allclose(values, [1, 1, 1, -1, -1, -1], atol=1e-5)


def word(count, logp=None):
    """A teacher that all tokens differ from, on the sampled one and on two likely ones."""
    student = torch.full((count, 2), -1.0) if logp is None else torch.stack([logp, logp / 2], -1)
    support = Support(torch.tensor([-2.0, -0.3]).repeat(count, 1), student, torch.full((count,), -2.0))
    return {"logp_teacher": torch.full((count,), -3.0), "support": support}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_baselines_a_trajectory_without_tokens_changes_no_loss(name):
    logp, old = torch.tensor([-1.0, -2.0, -0.5]), torch.tensor([-1.2, -1.0, -0.5])
    advantage = torch.tensor([1.0, 1.0, -1.0])
    plain, padded = (LOSSES[name](LossInputs(logp, old, advantage, torch.tensor(places), count, **word(3)), {}, {})[0]
                     for places, count in (([0, 0, 1], 2), ([0, 0, 3], 5)))
    assert plain.tolist() == padded.tolist()


@pytest.mark.parametrize(("name", "params"), [
    *((name, {}) for name in sorted(CORRECTIONS)), ("tis", {"level": "sequence"}), ("masked", {"ratio": "product"})])
def test_baselines_a_trajectory_without_tokens_changes_no_weight(name, params):
    old, sampled = torch.tensor([-1.0, -2.0, -0.5]), torch.tensor([-1.2, -1.0, -0.5])
    plain, padded = (CORRECTIONS[name](CorrectionInputs(old, sampled, torch.tensor(places), count), params, {})[0]
                     for places, count in (([0, 0, 1], 2), ([0, 0, 3], 5)))
    assert plain.tolist() == padded.tolist()


def test_baselines_a_zero_advantage_adds_nothing_to_any_loss_but_counts():
    for name in sorted(LOSSES.keys() - {"mle"}):
        logp = torch.tensor([-1.0, -2.0], requires_grad=True)
        given = LossInputs(logp, torch.tensor([-1.5, -1.0]), torch.zeros(2), **word(2, logp))
        value, _, _ = LOSSES[name](given, {}, {})
        assert not value.any(), name
        assert not torch.autograd.grad(value.sum(), logp)[0].any(), name


def test_dynamo_without_an_advantage_no_token_is_damped():
    given = ModulationInputs(np.zeros(3), np.array([3]), *(np.array([-1.0, -2.0, -3.0]),) * 2, np.arange(3.0))
    values, _, metrics = MODULATIONS["dynamo"](given, {"mode": "row_mean"}, {})
    assert not values.any()
    assert metrics["stabilisation_mean"] == 1.0


# A teacher.

def _taught(known):
    logp = torch.tensor([-1.0, -2.0], requires_grad=True)
    given = RegularizerInputs(logp, logp_teacher=torch.tensor([-0.5, -torch.inf]), known=torch.tensor(known))
    value, _, metrics = REGULARIZERS["sdar"](given, {}, {})
    return value, torch.autograd.grad(value.sum(), logp)[0], metrics


def test_sdar_a_row_whose_teacher_read_nothing_is_out_of_the_sum():
    value, slope, metrics = _taught([True, False])
    assert value[0] > 0 > slope[0]
    assert value[1] == slope[1] == 0
    assert metrics["known_fraction"] == 0.5


def test_sdar_all_masked_is_zero():
    value, slope, metrics = _taught([False, False])
    assert not value.any()
    assert not slope.any()
    assert metrics["gap"] == metrics["gate"] == 0.0


def test_sdar_a_group_without_variance_is_still_taught():
    """The modulation adds to an advantage of zero."""
    old = np.array([-1.0, -2.0])
    given = ModulationInputs(np.zeros(2), np.array([2]), old, old, logp_teacher=np.array([-0.5, -3.0]))
    values, _, _ = MODULATIONS["sdar"](given, {}, {})
    assert (values > 0).all()


@pytest.mark.parametrize("path", ["in_advantage", "in_loss", "in_loss_top_k"])
@pytest.mark.parametrize(("reward", "empty", "full"), [(1.0, "teacher_path", "student_path"),
                                                       (0.0, "student_path", "teacher_path")])
def test_scope_an_empty_path_leaves_the_other(reward, empty, full, path):
    tracks, _, _ = ADVANTAGES["scope"](step("scope", [[reward, reward]]), {"teacher_path": path}, {})
    by_name = {track.name: track for track in tracks}
    assert not by_name[empty].counts.any()
    assert not by_name[empty].advantage.any()
    assert by_name[full].counts.all()
    assert by_name[full].advantage.any()


def test_scope_one_rollout_is_plain_routing():
    for reward, name, way, value in (
            (1.0, "student_path", "in_advantage", 1.0), (0.0, "teacher_path", "in_advantage", -0.5),
            (0.0, "teacher_path", "in_loss", 1.0)):
        tracks, _, _ = ADVANTAGES["scope"](step("scope", [[reward]]), {"teacher_path": way}, {})
        path = next(track for track in tracks if track.name == name)
        np.testing.assert_allclose(path.advantage, value, atol=1e-12)


def test_aopd_a_teacher_that_can_say_nothing_leaves_no_region_to_reinforce():
    given = replace(step("aopd", [[1.0, 0.0]]), logp_teacher=np.full(6, -np.inf))
    values, _, metrics = aopd(given, AopdParams(), {})
    assert not values.any()
    assert metrics["reinforced_fraction"] == metrics["reinforced_mean"] == 0.0


# Skills that are absorbed.

def test_siri_an_empty_e_plus_has_no_loss():
    track = internalization(np.zeros(2), np.ones(5), np.array([2, 3]), 0.5, InternalizationParams())
    assert not track.counts.any()
    assert not track.advantage.any()


def test_siri_a_task_without_a_plain_episode_has_no_utility():
    reward, task, guided = np.array([1.0, 1.0, 0.0]), np.array([0, 1, 1]), np.array([True, True, False])
    assert omega(reward, task, guided, InternalizationParams()).tolist() == [0, 1, 0]
