"""The first step of a stage: a learner goes on with its weights alone, as one that starts from them."""

import pytest
from safetensors.torch import load

from hone.models import toy
from services.learner.trainer.learner import Learner
from tests.support.learner.learners import KL, OPTIMIZER, RUNNING_MEAN, learner, train
from tests.unit.trajectory.samples import random_step

AFTER = 3
CRITIC = {"optimizer": {"lr": 1e-3}}


def first_of_a_stage(algorithm, seed=7):
    plan, trajectories = random_step(seed=seed, algorithm=algorithm)
    return plan.model_copy(update={"n": AFTER, "first": AFTER}), trajectories


@pytest.mark.parametrize("algorithm", [None, KL, RUNNING_MEAN], ids=["plain", "reference", "state"])
def test_a_stage_goes_on_as_a_learner_that_starts_from_its_weights(algorithm):
    staged = train(learner(), AFTER - 1, algorithm)
    files = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
    fresh = Learner.create({**files, "model.safetensors": staged.weights()}, OPTIMIZER, token_budget=10_000)
    plan, trajectories = first_of_a_stage(algorithm)
    metrics = staged.forward_backward(plan, trajectories)
    assert metrics == fresh.forward_backward(plan.model_copy(update={"n": 1, "first": 1}), trajectories)
    for one in (staged, fresh):
        one.optim_step(1e-3, 1.0)
        train(one, 1, algorithm, first=9)
    assert staged.weights() == fresh.weights()


def test_a_snapshot_between_stages_is_gone_on_from_exactly():
    staged = train(learner(), AFTER - 1, KL)
    again = Learner.restore(staged.snapshot(), OPTIMIZER, token_budget=10_000)
    for one in (staged, again):
        one.forward_backward(*first_of_a_stage(KL))
        one.optim_step(1e-3, 1.0)
    assert staged.weights() == again.weights()
    assert staged.snapshot() == again.snapshot()


def test_a_critic_keeps_its_weights_and_forgets_its_moments():
    staged = train(learner(critic=CRITIC), AFTER - 1, {"preset": "ppo"})
    before = staged.snapshot()["critic.safetensors"]
    staged.forward_backward(*first_of_a_stage({"preset": "ppo"}))
    after = staged.snapshot()
    assert after["critic.safetensors"] == before
    for name in ("optimizer.safetensors", "critic_optimizer.safetensors"):
        assert {kept.split(".")[0] for kept in load(after[name])} == {"gradient"}
    staged.optim_step(1e-3, 1.0)
    assert staged.snapshot()["critic.safetensors"] != before


def test_schedules_of_slots_count_the_steps_of_their_stage():
    plan, _ = first_of_a_stage(None)
    assert (plan.nth, plan.model_copy(update={"n": AFTER + 4}).nth) == (1, 5)
