"""PPO as a learner takes it: a critic beside the policy, whose values the credit is reckoned with."""

import numpy as np
import pytest
import torch

from hone.models.adapter import Lora
from hone.models.checkpoint import read_weights
from hone.models.critic import HEAD
from hone.models.ranks import ALONE
from hone.trajectory.packing import pack
from services.learner.trainer.critic import CriticTargets, TrainedCritic
from services.learner.trainer.forward import Forward
from services.learner.trainer.learner import Learner
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.snapshot import Start
from services.learner.trainer.step_weights import compute_step_weights
from services.learner.trainer.training_step import RejectedPlan
from tests.support.learner.critics import CRITIC, FILES, learner
from tests.support.learner.learners import OPTIMIZER, assert_equal_gradients
from tests.unit.trajectory.samples import random_episodes, random_step

PPO = {"preset": "ppo", "advantage": {"name": "gae", "params": {"lam": 0.9}}}
LORA = Lora(2, 4.0, ("down_proj", "q_proj"))


def train(trained, seeds):
    reported = []
    for seed in seeds:
        metrics = trained.forward_backward(*random_step(seed=seed, algorithm=PPO))
        reported.append({**metrics, **trained.optim_step(1e-3, 1.0)})
    return reported


def gradients(trained):
    modules = trained.models.policy, trained.models.critic._module
    return {f"{place} {name}": parameter.grad.clone()
            for place, module in enumerate(modules) for name, parameter in module.trained.items()}


def test_a_step_tells_of_the_critic_too():
    first, *_, last = train(learner(), range(4))
    names = ("loss", "clip_fraction", "value_mean", "return_mean", "explained_variance", "grad_norm")
    assert {f"critic/{name}" for name in names} <= first.keys()
    assert first["critic/value_mean"] == first["critic/clip_fraction"] == 0
    assert first["critic/grad_norm"] > 0
    assert last["critic/value_mean"] != 0
    assert not {"advantage/mean_return", "advantage/explained_variance"} & first.keys(), "reported once"


def test_the_policys_credit_is_reckoned_with_the_values_before_the_step():
    trained, step = learner(), random_step(seed=9, algorithm=PPO)
    train(trained, range(2))
    values = trained.models.critic.values(pack(*step))
    trained.forward_backward(step[0].model_copy(update={"epochs": 2}), step[1])  # so that it stays under way
    weights = compute_step_weights(pack(*step), step[0], BeforeUpdate(values=values), {})
    [found], [expected] = trained._step.weights.terms, weights.terms
    assert torch.equal(found.advantage, expected.advantage)
    assert np.ptp(values) > 0


def test_where_no_reward_differs_only_the_critic_learns():
    plan, trajectories = random_step(algorithm={"preset": "ppo"})
    flat = [group.model_copy(update={"rewards": [1.0] * 4}) for group in plan.groups]
    trained = learner()
    before = trained.weights()
    metrics = trained.forward_backward(plan.model_copy(update={"groups": flat}), trajectories)
    assert metrics["forward_tokens"] == 0
    assert metrics["critic/loss"] == pytest.approx(0.5)
    norms = trained.optim_step(1e-3, 1.0)
    assert norms["grad_norm"] == 0
    assert norms["critic/grad_norm"] > 0
    moved = read_weights(trained.weights()), read_weights(before)
    assert all(torch.equal(moved[0][name], tensor) for name, tensor in moved[1].items() if tensor.dim() == 1)
    assert read_weights(trained.snapshot()["critic.safetensors"])[HEAD].abs().max() > 0


@pytest.mark.parametrize("make", [random_step, random_episodes])
def test_the_cut_into_micro_batches_changes_no_gradient(make):
    found = []
    for budget in (10_000, 40):
        trained = learner(budget)
        train(trained, range(1))
        trained.forward_backward(*make(seed=3, algorithm=PPO))
        found.append(gradients(trained))
    for name, gradient in found[0].items():
        torch.testing.assert_close(found[1][name], gradient, atol=2e-5, rtol=1e-3, msg=name)


def test_micro_batches_side_by_side_give_the_same_gradients():
    found = []
    for threads in (1, 3):
        trained = learner(40, threads=threads)
        trained.forward_backward(*random_step(seed=3, algorithm=PPO))
        found.append(gradients(trained))
    assert_equal_gradients(*found)


def test_every_update_of_a_step_has_the_same_targets():
    made, trajectories = random_step(seed=5, algorithm=PPO)
    plan, trained = made.model_copy(update={"minibatches": 2, "epochs": 2}), learner()
    alone = TrainedCritic.of(Start.first(FILES, critic=True).snapshot, CRITIC, Forward(10_000, 1, ALONE))
    assert alone is not None
    batch = pack(made, trajectories)
    before = BeforeUpdate(values=alone.values(batch), logp_old=np.zeros(int(batch.tokens.sum())))
    targets, weights = CriticTargets.of(plan, batch, before), compute_step_weights(batch, plan, before, {})
    for update in range(plan.updates):
        figures = trained.forward_backward(plan, [] if update else trajectories, update=update)
        assert ("critic/return_mean" in figures) == (update == 0)
        sums = MetricSums()
        alone.learn(batch, weights.minibatch == update % 2, targets, weights.scale, sums)
        assert figures["critic/loss"] == pytest.approx(sums.metrics()["critic/loss"], rel=1e-5)
        assert trained.optim_step(1e-3, 1.0)["critic/grad_norm"] == pytest.approx(alone.clip(), rel=1e-4)
        alone.step()


@pytest.mark.parametrize("lora", [None, LORA])
def test_an_interrupt_is_no_interrupt(lora):
    base = None if lora is None else FILES
    straight, stopped = learner(lora=lora), learner(lora=lora)
    train(straight, range(5))
    train(stopped, range(2))
    stopped.forward_backward(*random_step(seed=2, algorithm=PPO))
    for _ in range(2):
        stopped = Learner.restore(stopped.snapshot(), OPTIMIZER, token_budget=10_000, base=base, critic=CRITIC)
    stopped.optim_step(1e-3, 1.0)
    train(stopped, range(3, 5))
    assert stopped.snapshot() == straight.snapshot()
    assert {"critic.safetensors", "critic_optimizer.safetensors"} <= stopped.snapshot().keys()


def test_a_critics_gradient_that_is_not_finite_is_rejected_before_it_reaches_any_weights():
    trained = learner()
    trained.forward_backward(*random_step(algorithm=PPO))
    trained.models.critic._module.trained[HEAD].grad.fill_(np.nan)
    before = trained.weights()
    with pytest.raises(RejectedPlan, match="gradient norm: found critic/grad_norm nan"):
        trained.optim_step(1e-3, 1.0)
    assert trained.weights() == before


def test_an_advantage_that_reads_values_is_refused_where_there_is_no_critic():
    trained = Learner.create(FILES, OPTIMIZER, token_budget=10_000)
    with pytest.raises(RejectedPlan, match="advantage gae: values: found none"):
        trained.forward_backward(*random_step(algorithm=PPO))
