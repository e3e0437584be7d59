"""Several updates of one step: their shared values, their own minibatches, and no part lost or used twice."""

import numpy as np
import pytest
import torch

from hone.trajectory.packing import pack
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.step_weights import compute_step_weights
from services.learner.trainer.training_step import RejectedPlan
from tests.support.learner.learners import KL, OPTIMIZER, assert_equal_gradients, gradient, learner, train
from tests.unit.trajectory.samples import random_step

SEVERAL = {"minibatches": 3, "epochs": 2}


def several(seed=2, algorithm=None, **changes):
    made, trajectories = random_step(seed=seed, algorithm=algorithm)
    return made.model_copy(update={**SEVERAL, **changes}), trajectories


def gradients(trained):
    return {name: tensor.grad.clone() for name, tensor in trained.models.policy.trained.items()}


def all_updates(trained, plan, trajectories):
    found = []
    for update in range(plan.updates):
        metrics = trained.forward_backward(plan, [] if update else trajectories, update=update)
        trained.optim_step(1e-3, 1.0)
        found.append(metrics)
    return found


def test_parts_are_like_many_whole_groups_and_each_is_a_mean_of_its_own():
    plan, trajectories = several()
    batch = pack(plan, trajectories)
    weights = compute_step_weights(batch, plan, BeforeUpdate(), {})
    of_group = {int(group): set(weights.minibatch[batch.group == group]) for group in np.unique(batch.group)}
    assert all(len(parts) == 1 for parts in of_group.values())
    assert [sum(parts == {number} for parts in of_group.values()) for number in range(3)] == [2, 2, 2]
    part = np.repeat(weights.minibatch, batch.tokens)
    scale = np.asarray(weights.terms[0].scale)
    assert [scale[part == number].sum() for number in range(3)] == pytest.approx([1, 1, 1])


def test_the_first_update_is_the_step_of_its_part_alone():
    plan, trajectories = several(algorithm={"advantage": {"name": "rloo"}, "loss": {"name": "reinforce"}})
    trained = learner()
    trained.forward_backward(plan, trajectories)
    first = [one for one in trajectories if one.group_id < 2]
    alone = plan.model_copy(update={"groups": plan.groups[:2], "minibatches": 1, "epochs": 1})
    assert_equal_gradients(gradients(trained), gradient((alone, first))[1])


def test_parts_of_equal_tokens_add_up_to_the_whole_step():
    whole, trajectories = several(minibatches=1, epochs=1, algorithm={"aggregation": {"name": "seq-mean-token-sum"}})
    plan = whole.model_copy(update={"minibatches": 3})
    trained = learner()
    for update in range(3):
        trained.forward_backward(plan, trajectories if update == 0 else [], update=update)
    expected = gradient((whole, trajectories))[1]
    assert_equal_gradients({name: tensor / 3 for name, tensor in gradients(trained).items()}, expected)


def test_later_updates_compare_with_the_weights_before_the_first():
    plan, trajectories = several(algorithm={"loss": {"name": "ppo_clip"}})
    figures = all_updates(learner(), plan, trajectories)
    assert figures[0]["loss/ratio_mean"] == pytest.approx(1, abs=1e-6)
    assert all(abs(later["loss/ratio_mean"] - 1) > 1e-5 for later in figures[1:])
    assert figures[-1]["loss/ratio_p05"] < figures[-1]["loss/ratio_p50"] < figures[-1]["loss/ratio_p95"]
    assert sum(one["trained_tokens"] for one in figures) == 2 * sum(
        len(call.completion_ids) for one in trajectories for call in one.calls)


def test_importance_weights_stay_those_of_the_first_update():
    plan, trajectories = several()
    figures = all_updates(learner(), plan, trajectories)
    for number in range(3):
        assert figures[number]["correction/weight_mean"] == pytest.approx(figures[number + 3]["correction/weight_mean"])


def test_only_the_first_update_is_held_against_the_sampler():
    figures = all_updates(learner(), *several())
    assert ["gap/mean" in one for one in figures] == [True] + [False] * 5


def test_micro_batches_change_no_update():
    plan, trajectories = several(algorithm=KL)
    whole, cut = learner(), learner(token_budget=30)
    all_updates(whole, plan, trajectories)
    all_updates(cut, plan, trajectories)
    for name, tensor in whole.models.policy.trained.items():
        torch.testing.assert_close(cut.models.policy.trained[name], tensor, atol=2e-6, rtol=1e-4, msg=name)


def test_a_step_is_ended_before_a_snapshot_and_begun_before_its_second_update():
    plan, trajectories = several()
    trained = train(learner(), 1)
    with pytest.raises(RejectedPlan, match="update 1 of step 1: found no update of the step before it"):
        trained.forward_backward(plan, [], update=1)
    trained.forward_backward(plan, trajectories)
    with pytest.raises(RuntimeError, match="found step 1 under way"):
        trained.snapshot()
    with pytest.raises(RejectedPlan, match="update 1 of step 2"):
        trained.forward_backward(plan.model_copy(update={"n": 2}), [], update=1)


def test_a_step_of_several_updates_resumes_exactly():
    plan, trajectories = several()
    trained = learner()
    all_updates(trained, plan, trajectories)
    again = type(trained).restore(trained.snapshot(), OPTIMIZER, token_budget=10_000)
    for one in (trained, again):
        all_updates(one, *several(seed=9))
    assert trained.weights() == again.weights()


def test_a_step_of_which_nothing_counts_has_updates_too():
    plan, trajectories = several()
    masked = [group.model_copy(update={"rewards": [None] * 4}) for group in plan.groups]
    figures = all_updates(learner(), plan.model_copy(update={"groups": masked}), trajectories)
    assert figures[0]["masked_samples"] == 24
    assert figures[1:] == [{}] * 5


def test_more_parts_than_groups_leave_some_empty():
    plan, trajectories = several(minibatches=8, epochs=1)
    figures = all_updates(learner(), plan, trajectories)
    assert sum(one["trained_tokens"] == 0 for one in figures) == 2
