"""The critic in training by itself: its loss and gradient, its learning, and its exact resumption."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from hone.models import toy
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint, read_weights, weights_bytes
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.critic import HEAD
from hone.models.ranks import ALONE
from hone.trajectory.packing import pack
from services.learner.trainer.critic import CriticTargets, TrainedCritic
from services.learner.trainer.forward import Forward
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.snapshot import Snapshot, Start
from services.learner.trainer.step_weights import compute_step_weights
from tests.oracles import gae as oracle
from tests.support.learner.learners import digests
from tests.unit.trajectory.samples import random_episodes, random_step

FILES = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
SETTINGS = {"optimizer": {"lr": 1e-2, "clip_norm": 0.5, "weight_decay": 0.01}, "clip": 0.2}
PPO = {"preset": "ppo", "advantage": {"name": "gae", "params": {"gamma": 0.9, "lam": 0.8}}}


def critic(token_budget=10_000, threads=1, drawn=True, trained=None, **changes):
    """A critic over the toy model; its head is drawn unless it is to be new."""
    snapshot = Start.first(FILES, critic=True).snapshot
    if drawn:
        of(snapshot).weights[HEAD].copy_(0.1 * torch.randn((1, 32), generator=torch.Generator().manual_seed(4)))
    return TrainedCritic(trained or of(snapshot), snapshot.architecture, {**SETTINGS, **changes},
                         Forward(token_budget, threads, ALONE))


def of(snapshot):
    assert snapshot.critic is not None
    return snapshot.critic


def targets_of(batch, seed=1):
    """Returns and earlier values that are near each other, so that some values are held by the clip and some not."""
    draw = np.random.Generator(np.random.PCG64(seed))
    return CriticTargets(*(draw.normal(size=(2, int(batch.tokens.sum()))) * 0.5))


def weights_of(batch, seed=2):
    """Weights of tokens that add up to 1."""
    drawn = np.random.Generator(np.random.PCG64(seed)).random(int(batch.tokens.sum()))
    return torch.from_numpy(drawn / drawn.sum()).float()


def every(batch):
    return np.ones(len(batch.rows), np.bool_)


def gradients(trained):
    return {name: parameter.grad for name, parameter in trained._module.trained.items()}


def learn(trained, batch, targets, scale=None, mine=None):
    sums = MetricSums()
    trained.learn(batch, every(batch) if mine is None else mine, targets, weights_of(batch) if scale is None else scale,
                  sums)
    return sums.metrics()


def loss(trained, batch, targets, scale):
    values = trained.values(batch)
    return float((oracle.critic_loss(values, targets.returns, targets.values, 0.2) * scale.numpy()).sum())


def test_the_gradient_is_that_of_finite_differences():
    batch = pack(*random_step(seed=2))
    targets, scale, trained = targets_of(batch), weights_of(batch), critic(token_budget=60)
    figures = learn(trained, batch, targets, scale)
    assert 0.1 < figures["critic/clip_fraction"] < 0.9
    for name, parameter in trained._module.trained.items():
        along = parameter.grad / parameter.grad.norm()
        step, losses = 2e-3 * float(parameter.detach().norm()), []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.add_(along, alpha=sign * step)
                losses.append(loss(trained, batch, targets, scale))
                parameter.sub_(along, alpha=sign * step)
        assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(float(parameter.grad.norm()), rel=0.05), name


def test_figures_are_those_of_the_formula():
    batch = pack(*random_step(seed=2))
    targets, trained = targets_of(batch), critic()
    values = trained.values(batch)
    figures = learn(trained, batch, targets)
    assert figures["critic/loss"] == pytest.approx(
        oracle.critic_loss(values, targets.returns, targets.values, 0.2).mean(), rel=1e-5)
    near = np.clip(values, targets.values - 0.2, targets.values + 0.2)
    held = (near - targets.returns) ** 2 > (values - targets.returns) ** 2
    assert figures["critic/clip_fraction"] == pytest.approx(held.mean())
    metrics = targets.metrics()
    assert metrics["critic/value_mean"] == pytest.approx(targets.values.mean())
    assert metrics["critic/return_mean"] == pytest.approx(targets.returns.mean())
    assert metrics["critic/explained_variance"] == pytest.approx(
        1 - (targets.returns - targets.values).var() / targets.returns.var())


@pytest.mark.parametrize("made", [random_step(seed=3, algorithm=PPO), random_episodes(seed=3, algorithm=PPO)],
                         ids=["answers", "episodes"])
def test_targets_are_the_returns_of_gae(made):
    batch = pack(*made)
    values = critic().values(batch)
    targets = CriticTargets.of(made[0], batch, BeforeUpdate(values=values))
    longest = int(batch.tokens.max())
    mask = np.arange(longest) < batch.tokens[:, None]
    rows, rewards = np.zeros(mask.shape), np.zeros(mask.shape)
    rows[mask] = values
    rewards[np.arange(len(mask)), batch.tokens - 1] = batch.reward
    flat = np.zeros(len(values))
    if len(batch.turns.tokens):
        np.add.at(flat, np.cumsum(batch.turns.tokens) - 1, batch.turns.reward)
    rewards[mask] += flat
    np.testing.assert_allclose(targets.returns, oracle.raw(rewards, rows, mask, 0.9, 0.8)[1][mask], atol=1e-12)
    np.testing.assert_array_equal(targets.values, values)


def test_without_values_there_are_no_targets():
    made, samples = random_step(algorithm=PPO)
    with pytest.raises(ValueError, match="values: found none"):
        CriticTargets.of(made, pack(made, samples), BeforeUpdate())


@pytest.mark.parametrize("budget", [25, 40, 77])
def test_the_cut_into_micro_batches_changes_no_value_and_no_gradient(budget):
    batch = pack(*random_episodes(seed=5))
    whole, parts = critic(), critic(token_budget=budget)
    np.testing.assert_allclose(parts.values(batch), whole.values(batch), atol=1e-5)
    figures = [learn(each, batch, targets_of(batch)) for each in (whole, parts)]
    assert figures[0] == pytest.approx(figures[1], rel=1e-4)
    for name, gradient in gradients(whole).items():
        torch.testing.assert_close(gradients(parts)[name], gradient, atol=2e-6, rtol=1e-4, msg=name)


def test_micro_batches_side_by_side_change_no_bit():
    found = digests("critic")
    assert (len(found), len(set(found))) == (3, 1)


def test_only_marked_trajectories_are_learnt_from():
    batch = pack(*random_step(seed=6))
    targets, mine = targets_of(batch), batch.group < 2
    some, weighted = critic(), critic()
    learn(some, batch, targets, mine=mine)
    learn(weighted, batch, targets, weights_of(batch) * torch.from_numpy(np.repeat(mine, batch.tokens)))
    for name, gradient in gradients(some).items():
        torch.testing.assert_close(gradients(weighted)[name], gradient, atol=2e-6, rtol=1e-4, msg=name)


def test_nothing_to_learn_is_an_update_without_gradient():
    batch = pack(*random_step(seed=6))
    trained = critic(optimizer={"lr": 1e-2})
    before = weights_bytes(trained.trained().weights)
    learn(trained, batch, targets_of(batch), mine=~every(batch))
    assert trained.clip() == 0
    trained.step()
    assert weights_bytes(trained.trained().weights) == before
    assert trained.trained().updates == 1


def taught(returns_of, steps):
    """A new critic after steps towards returns that are a function of the batch, and its losses."""
    trained, losses = critic(drawn=False, clip=10.0), []
    for number in range(steps):
        batch = pack(*random_step(seed=number, groups=8))
        targets = CriticTargets(returns_of(batch), trained.values(batch))
        losses.append(learn(trained, batch, targets, torch.full((int(batch.tokens.sum()),), 1 / batch.tokens.sum())))
        trained.clip()
        trained.step()
    return trained, [each["critic/loss"] for each in losses]


def test_it_learns_a_return_that_is_always_the_same():
    trained, losses = taught(lambda batch: np.full(int(batch.tokens.sum()), 0.7), 40)
    assert losses[0] == pytest.approx(0.5 * 0.7**2)  # a new critic says 0
    assert losses[-1] < 0.01 * losses[0]
    assert trained.values(pack(*random_step(seed=99))) == pytest.approx(0.7, abs=0.15)


def test_it_learns_how_returns_depend_on_what_comes_before():
    def last_seen(batch):
        """1 before a token that follows one of the upper half of the vocabulary, 0 before others."""
        rows = [row for rows in batch.rows for row in rows]
        return np.concatenate([[float(seen >= 16) for seen in (row.prompt[-1], *row.response[:-1])] for row in rows])

    trained, _ = taught(last_seen, 80)
    batch = pack(*random_step(seed=99, groups=8))
    assert CriticTargets(last_seen(batch), trained.values(batch)).metrics()["critic/explained_variance"] > 0.8


def test_adamw_is_its_own_with_decay_on_matrices_only():
    trained = critic(optimizer={"lr": 0.1, "weight_decay": 0.01})
    before = {name: tensor.detach().clone() for name, tensor in trained._module.trained.items()}
    trained.clip()
    trained.step()
    after, embedding = trained._module.trained, "model.embed_tokens.weight"
    torch.testing.assert_close(after[embedding], before[embedding] * (1 - 0.1 * 0.01))
    assert torch.equal(after["model.norm.weight"], before["model.norm.weight"])


def test_the_gradient_is_clipped_to_the_critics_own_norm():
    batch, trained = pack(*random_step(seed=2)), critic()
    learn(trained, batch, targets_of(batch), torch.full((int(batch.tokens.sum()),), 1.0))
    expected = np.sqrt(sum(float(gradient.norm()) ** 2 for gradient in gradients(trained).values()))
    assert trained.clip() == pytest.approx(expected, rel=1e-5)
    assert expected > 0.5
    assert np.sqrt(sum(float(gradient.norm()) ** 2 for gradient in gradients(trained).values())) == pytest.approx(0.5)


def step(trained, number):
    batch = pack(*random_step(seed=number))
    learn(trained, batch, targets_of(batch))


def train(trained, numbers):
    for number in numbers:
        step(trained, number)
        trained.clip()
        trained.step()
    return trained


def files(trained):
    """A snapshot's files with this critic in it."""
    return replace(Start.first(FILES, critic=True).snapshot, critic=trained.trained()).files()


@pytest.mark.parametrize("before", [0, 2])
def test_an_interrupt_is_no_interrupt(before):
    straight, stopped = (train(critic(), range(before)) for _ in range(2))
    for each in (straight, stopped):
        step(each, before)
    again = critic(trained=of(Snapshot.from_files(files(stopped))))
    for each in (straight, again):
        each.clip()
        each.step()
        train(each, range(before + 1, before + 3))
    assert files(again) == files(straight)
    assert json.loads(files(again)["learner.json"])["critic_updates"] == before + 3


def test_a_snapshot_holds_the_critic_in_files_of_its_own_only_where_there_is_one():
    with_critic, without = files(train(critic(), [0])), Start.first(FILES).snapshot.files()
    assert with_critic.keys() - without.keys() == {"critic.safetensors", "critic_optimizer.safetensors"}
    assert Snapshot.from_files(without).critic is None
    assert read_weights(with_critic["critic.safetensors"])[HEAD].shape == (1, 32)
    shape = Checkpoint.from_files(FILES).architecture
    kinds = {f"{kind}.{name}" for kind in ("exp_avg", "exp_avg_sq") for name in shape.shapes()}
    assert read_weights(with_critic["critic_optimizer.safetensors"]).keys() >= kinds


@pytest.mark.parametrize("name", ["critic.safetensors", "critic_optimizer.safetensors"])
def test_a_snapshot_without_its_critics_files_is_refused_by_name(name):
    incomplete = files(critic())
    del incomplete[name]
    with pytest.raises(BadCheckpoint, match=name):
        Snapshot.from_files(incomplete)


def test_a_critic_of_another_shape_is_refused_by_name():
    broken = {**files(critic()), "critic.safetensors": weights_bytes({HEAD: torch.zeros(1, 8)})}
    with pytest.raises(BadCheckpoint, match=r"critic\.safetensors: found model.embed_tokens"):
        Snapshot.from_files(broken)


@pytest.mark.parametrize("updates", [0, 1])
def test_an_outline_says_all_but_the_values(updates):
    trained = train(critic(), range(updates))
    step(trained, 7)
    snapshot = Snapshot.from_files(files(trained))
    there, here = of(Snapshot.from_outline(json.loads(json.dumps(snapshot.outline())))), of(snapshot)
    assert there.updates == updates
    for ours, theirs in ((there.weights, here.weights), (there.gradients, here.gradients),
                         *((there.moments[kind], moments) for kind, moments in here.moments.items())):
        assert {name: each.shape for name, each in ours.items()} == {name: each.shape for name, each in theirs.items()}


@pytest.mark.parametrize("lora", [None, Lora(2, 4.0, ("q_proj",))])
def test_a_first_critic_is_the_base_with_a_head_that_says_nothing(lora):
    start, base = Start.first(FILES, lora, critic=True), Checkpoint.from_files(FILES).tensors
    weights = dict(of(start.snapshot).weights)
    assert torch.equal(weights.pop(HEAD), torch.zeros(1, 32))
    assert weights.keys() == base.keys()
    assert all(torch.equal(tensor, base[name]) for name, tensor in weights.items())


def test_settings_that_are_none_of_a_critic_are_refused():
    with pytest.raises(ValidationError, match="clip"):
        critic(clip=-1.0)


def test_a_critic_without_settings_or_settings_without_a_critic_are_refused():
    with_critic, without = (Start.first(FILES, critic=wanted).snapshot for wanted in (True, False))
    forward = Forward(100, 1, ALONE)
    assert TrainedCritic.of(without, None, forward) is None
    assert TrainedCritic.of(with_critic, SETTINGS, forward) is not None
    for snapshot, settings, found in ((with_critic, None, "weights"), (without, SETTINGS, "settings")):
        with pytest.raises(ValueError, match=f"critic: found {found} alone"):
            TrainedCritic.of(snapshot, settings, forward)


def test_the_loss_is_averaged_as_the_policys():
    made, samples = random_step(seed=4, algorithm={**PPO, "aggregation": {"name": "seq-mean-token-mean"}})
    batch, trained = pack(made, samples), critic()
    before = BeforeUpdate(values=trained.values(batch))
    learn(trained, batch, CriticTargets.of(made, batch, before), compute_step_weights(batch, made, before, {}).scale)
    by_hand = critic()
    weights = np.repeat(1 / (len(batch.tokens) * batch.tokens), batch.tokens)
    learn(by_hand, batch, CriticTargets.of(made, batch, before), torch.from_numpy(weights).float())
    for name, gradient in gradients(trained).items():
        torch.testing.assert_close(gradients(by_hand)[name], gradient, msg=name)
