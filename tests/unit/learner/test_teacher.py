"""Teachers in a step's gradient: stored words, the policy under another context, and tokens without either."""

import math

import numpy as np
import pytest
import torch

from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.presets import resolve
from hone.algorithms.slots import SlotError
from hone.spec.run import AlgorithmSpec
from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack
from hone.trajectory.teaching import stored_teacher, under_context
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.step_weights import advantage_inputs, compute_step_weights
from services.learner.trainer.training_step import RejectedPlan
from tests.support.learner.learners import assert_equal_gradients, gradient, learner
from tests.unit.trajectory.samples import random_episodes, with_context, with_teacher

OPD = {"preset": "opd", "correction": {"name": "none"}}
SDAR = {"advantage": {"name": "none"}, "aggregation": {"name": "token-mean"}, "correction": {"name": "none"},
        "regularizers": [{"name": "sdar", "params": {"coefficient": 0.5}}]}
SOFT = {"regularizers": [{"name": "context_distillation", "params": {}}]}
IN_LOSS = {"preset": "scope", "advantage": {"name": "scope", "params": {"teacher_path": "in_loss"}},
           "correction": {"name": "none"}, "aggregation": {"name": "token-mean"}}
LIKELIEST = {**IN_LOSS, "advantage": {"name": "scope", "params": {"teacher_path": "in_loss_top_k"}}}


def step(algorithm, teacher, seed=6, **changes):
    made, trajectories = random_episodes(seed=seed, algorithm=algorithm)
    trajectories = with_teacher(trajectories) if teacher == "model" else with_context(trajectories, left_out={(1, 1)})
    return made.model_copy(update={"teacher": teacher, **changes}), trajectories


def logp(trained, batch):
    [micro] = cut(batch, np.ones(len(batch.rows), np.bool_), 10_000)
    order = torch.from_numpy(np.argsort(micro.token))
    return trained.models.policy(micro)[0][order]


@pytest.mark.parametrize(("algorithm", "teacher", "changes"), [
    (OPD, "model", {}), (OPD, "context", {}), (SDAR, "model", {}), (SDAR, "context", {}),
    ({"preset": "aopd"}, "model", {}), ({"preset": "aopd"}, "context", {"top_k": 4}),
    ({"preset": "aopd"}, "model", {"epochs": 2}), ({"preset": "scope"}, "model", {}),
    ({"preset": "rlsd"}, "context", {}), (SOFT, "context", {"top_k": 32}),
    (IN_LOSS, "model", {}), (IN_LOSS, "context", {"epochs": 2}), (LIKELIEST, "model", {}),
    (LIKELIEST, "context", {"top_k": 4}), ({"loss": {"name": "teacher_kl"}}, "model", {}),
    ({"loss": {"name": "teacher_k3"}}, "context", {}),
])
def test_no_cut_of_the_step_changes_what_a_teacher_moves(algorithm, teacher, changes):
    whole, at_once = gradient(step(algorithm, teacher, **changes))
    parts = gradient(step(algorithm, teacher, **changes), token_budget=40)[1]
    for name, tensor in at_once.items():
        torch.testing.assert_close(parts[name], tensor, atol=2e-6, rtol=1e-4, msg=name)
    assert all(map(math.isfinite, whole.values()))
    assert any(tensor.abs().max() > 0 for tensor in at_once.values())


def test_the_privileged_self_endorses_tokens_as_a_forward_under_its_prompts_says():
    plan, trajectories = step(SDAR, "context")
    found = gradient((plan, trajectories))[1]
    trained, batch = learner(), pack(plan, trajectories)
    moved, known = under_context(batch, trajectories, "privileged")
    with torch.no_grad():
        teacher = logp(trained, moved)
    student, spoken = logp(trained, batch), torch.from_numpy(known)
    gate = torch.sigmoid(5 * (teacher - student.detach()))
    loss = -student.mean() + 0.5 * (gate * (teacher - student))[spoken].sum() / spoken.sum()
    loss.backward()
    assert 0 < known.mean() < 1
    assert_equal_gradients(found, {name: tensor.grad for name, tensor in trained.models.policy.trained.items()})


@pytest.mark.parametrize("algorithm", [IN_LOSS, LIKELIEST])
def test_in_the_loss_wrong_trajectories_follow_the_teacher_that_was_stored(algorithm):
    plan, trajectories = step(algorithm, "model")
    figures, found = gradient((plan, trajectories))
    trained, batch = learner(), pack(plan, trajectories)
    word = stored_teacher(batch, trajectories, "teacher")
    [micro] = cut(batch, np.ones(len(batch.rows), np.bool_), 10_000)
    logp, _, likely, _ = trained.models.policy(micro, support=word.top_ids[micro.token])
    known, said, top = (torch.from_numpy(each[micro.token]) for each in (word.known, word.logp, word.top_logp))
    gap, q, p = said.float() - logp, likely.log_softmax(-1), top.float().log_softmax(-1)
    distance = (gap.exp() - gap - 1).clamp(max=10) if algorithm is IN_LOSS else (q.exp() * (q - p)).sum(-1)
    old = logp.detach().double().numpy()[np.argsort(micro.token)]
    tracks, _, _ = ADVANTAGES["scope"](
        advantage_inputs(batch, plan, BeforeUpdate(old, teacher=word)), {"teacher_path": "in_loss"}, {})
    weight = torch.from_numpy(np.sum([track.advantage for track in tracks], axis=0)[micro.token]).float()
    own = torch.from_numpy(batch.reward > 0)[torch.from_numpy(micro.trajectory)]
    loss = -(weight * logp)[own].sum() / own.sum() + (weight * distance * known)[~own].sum() / (~own).sum()
    loss.backward()
    assert 0 < known.float().mean() < 1
    assert figures["loss"] == pytest.approx(loss.item(), rel=1e-4)
    assert figures["loss/teacher_path/teacher_distance"] > 0
    assert_equal_gradients(found, {name: tensor.grad for name, tensor in trained.models.policy.trained.items()})


@pytest.mark.parametrize("correction", ["tis", "bypass"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_no_token_is_reinforced_and_imitated(correction, epochs):
    """One split serves both terms, also where the loss's ratio compares with the sampler."""
    plan, trajectories = step({
        "preset": "aopd", "advantage": {"name": "aopd", "params": {"mix_outcome": True, "kappa": 0.3}},
        "correction": {"name": correction}}, "model", epochs=epochs)
    batch = pack(plan, trajectories)
    with torch.no_grad():
        old, word = logp(learner(), batch).double().numpy(), stored_teacher(batch, trajectories, "teacher")
    weights = compute_step_weights(batch, plan, BeforeUpdate(old, teacher=word), {})
    assert weights.imitated is not None
    assert torch.equal(weights.terms[0].advantage == 0, weights.imitated)
    figures, _ = gradient((plan, trajectories))
    assert figures["advantage/reinforced_fraction"] == pytest.approx(float((~weights.imitated).float().mean()))
    assert figures["regularizers/local_divergence.0/imitated_fraction"] == pytest.approx(
        float((weights.imitated.numpy() & word.known).mean()))
    gap_alone = np.where(word.known, word.logp, old) - old <= 0.3
    assert (weights.imitated.numpy() != gap_alone).any()


def test_a_second_border_beside_that_of_the_advantage_is_refused():
    asked = AlgorithmSpec.model_validate({
        "preset": "aopd", "advantage": {"name": "aopd", "params": {"kappa": 0.3}},
        "regularizers": [{"name": "local_divergence", "params": {"kappa": 0.0}}]})
    with pytest.raises(SlotError, match=r"regularizers.0.params.kappa: found 0.0, expected null or 0.3"):
        resolve(asked)


def test_a_context_that_tells_all_ids_is_the_whole_distribution():
    figures, moved = gradient(step({**SOFT, "advantage": {"name": "none"}}, "context", top_k=32))
    assert figures["regularizers/context_distillation.0/mean"] > 0
    assert all(torch.isfinite(tensor).all() for tensor in moved.values())


def test_a_token_without_a_word_has_no_gap():
    plan, trajectories = step(OPD, "context")
    alone = [one for one in trajectories if (one.group_id, one.index) == (1, 1)]
    groups = [group.model_copy(update={"rewards": group.rewards[:1], "grade_ids": [1], "components": []})
              for group in plan.groups if group.group_id == 1]
    only = plan.model_copy(update={"groups": groups})
    figures, _ = gradient((only, [type(one)(**{**one.__dict__, "index": 0}) for one in alone]))
    assert (figures["skipped_trajectories"], figures["advantage/zero_share"]) == (1, 1)


def test_a_method_that_reads_a_teacher_is_refused_without_one():
    with pytest.raises(RejectedPlan, match="teacher: found none"):
        gradient(random_episodes(algorithm=OPD))
