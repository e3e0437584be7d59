"""A modulation that reads the current weights, in a step of several updates: each update's gradient by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.step_weights import compute_step_weights
from tests.oracles import dynamo as oracle
from tests.support.learner.learners import assert_equal_gradients, learner
from tests.unit.trajectory.samples import random_episodes, random_step, with_proposals

SEVERAL = {"minibatches": 2, "epochs": 2}
DYNAMO = {"preset": "dynamo", "correction": {"name": "none"}}
LOW, HIGH, FLOOR, RATE = 0.2, 0.28, 10.0, 0.03


def several(algorithm=None, **changes):
    made, trajectories = random_step(seed=3, algorithm=algorithm or DYNAMO)
    return made.model_copy(update={**SEVERAL, **changes}), trajectories


def forward(trained, batch):
    """Return logp with gradient, entropy and the expectation of all tokens, in the batch's order."""
    [micro] = cut(batch, np.ones(len(batch.rows), np.bool_), 10_000)
    order = torch.from_numpy(np.argsort(micro.token))
    return [values[order] for values in trained.models.policy(micro, expected=True)]


def updates(trained, plan, trajectories):
    """Yield each update's number, metrics and gradient before the optimizer takes its step."""
    for number in range(plan.updates):
        metrics = trained.forward_backward(plan, [] if number else trajectories, update=number)
        yield number, metrics, {name: tensor.grad.clone() for name, tensor in trained.models.policy.trained.items()}
        trained.optim_step(RATE, 1.0)


def by_hand(trained, batch, advantage, old, own):
    """Return the gradient of an update over the tokens `own` [M], with DynaMO's factors from the present weights."""
    logp, entropy, expected = forward(trained, batch)
    given = [np.asarray(values.detach(), np.float64)[None, own] for values in (logp, entropy, expected)]
    mask = np.ones((1, int(own.sum())), np.bool_)
    wanted = oracle.modulate(advantage[None, own], given[0], old[None, own], given[1], mask, given[2])[0]
    wanted = torch.from_numpy(wanted).float()
    ratio = (logp[own] - torch.from_numpy(old[own]).float()).exp()
    loss = -torch.minimum(ratio * wanted, ratio.clamp(1 - LOW, 1 + HIGH) * wanted)
    loss = torch.where(wanted < 0, torch.minimum(loss, -FLOOR * wanted), loss)
    trained.models.policy.zero_grad()
    loss.mean().backward()
    found = {name: tensor.grad.clone() for name, tensor in trained.models.policy.trained.items()}
    trained.models.policy.zero_grad()
    return found, ratio.detach()


def advantages(batch):
    values = np.zeros(len(batch.tokens))
    for group in np.unique(batch.group):
        rows = batch.group == group
        if np.ptp(batch.reward[rows]):
            values[rows] = (batch.reward[rows] - batch.reward[rows].mean()) / (batch.reward[rows].std(ddof=1) + 1e-6)
    return np.repeat(values, batch.tokens)


def test_each_update_modulates_its_minibatch_by_the_weights_that_it_has():
    plan, trajectories = several()
    batch, trained, shadow = pack(plan, trajectories), learner(), learner()
    advantage, part = advantages(batch), np.repeat(batch.group >= 3, batch.tokens).astype(int)
    old = np.asarray(forward(shadow, batch)[0].detach(), np.float64)
    apart = []
    for number, metrics, found in updates(trained, plan, trajectories):
        expected, ratio = by_hand(shadow, batch, advantage, old, part == number % 2)
        for name, tensor in found.items():
            torch.testing.assert_close(tensor, expected[name], atol=2e-6, rtol=1e-3, msg=f"{number} {name}")
        apart.append(float((ratio - 1).abs().max()))
        assert metrics["modulation/swing_max"] > 0
        for name, tensor in shadow.models.policy.trained.items():
            tensor.grad = found[name]
        shadow.optim_step(RATE, 1.0)
    assert apart[0] < 1e-6
    assert min(apart[1:]) > 0.01


def test_the_first_update_is_the_step_of_its_minibatch_alone():
    plan, trajectories = several()
    [(_, metrics, first), *_] = updates(learner(), plan, trajectories)
    alone = plan.model_copy(update={"groups": plan.groups[:3], "minibatches": 1, "epochs": 1})
    trained = learner()
    whole = trained.forward_backward(alone, [one for one in trajectories if one.group_id < 3])
    assert_equal_gradients(first, {name: tensor.grad for name, tensor in trained.models.policy.trained.items()})
    for name in ("swing_max", "swing_mean", "compensation_mean", "stabilisation_mean"):
        assert metrics[f"modulation/{name}"] == pytest.approx(whole[f"modulation/{name}"], rel=1e-6)


def test_no_cut_of_the_step_changes_an_update_and_a_repetition_has_the_same_bits():
    plan, trajectories = several()
    whole, again, parts = learner(), learner(), learner(token_budget=30)
    of_whole, _, of_parts = ([found for _, _, found in updates(trained, plan, trajectories)]
                             for trained in (whole, again, parts))
    assert whole.weights() == again.weights()
    for expected, found in zip(of_whole, of_parts, strict=True):  # not weights: Adam scales tiny gradients up
        for name, tensor in found.items():
            torch.testing.assert_close(tensor, expected[name], atol=2e-6, rtol=1e-3, msg=name)


def test_in_bypass_mode_the_swing_reads_the_ratio_that_the_loss_has():
    """Tokens that the loss stops have no swing, with one update too: the sampler's log-probabilities are far off."""
    plan, trajectories = random_step(seed=3, algorithm={**DYNAMO, "correction": {"name": "bypass"}})
    batch, trained = pack(plan, trajectories), learner()
    logp, entropy, expected = (np.asarray(values.detach(), np.float64)[None] for values in forward(trained, batch))
    change = oracle.entropy_change(advantages(batch)[None], logp, batch.logp_sample[None], entropy,
                                   np.ones_like(logp, bool), expected, LOW, HIGH)
    metrics = trained.forward_backward(plan, trajectories)
    assert metrics["modulation/swing_mean"] == pytest.approx(np.abs(change).mean(), rel=1e-5)
    assert 0 < (change != 0).mean() < 0.9


def test_tokens_outside_a_track_are_in_none_of_its_statistics():
    """Far larger entropies outside of the schema track: its highest own one still gains nothing, its lowest all."""
    made, trajectories = random_episodes(seed=5, algorithm={
        "preset": "trust_sql", "modulation": {"name": "dynamo", "params": {"floor": 1.0}}},
        components=("exec", "fmt", "schema"))
    plan = with_proposals(made)
    batch = pack(plan, trajectories)
    count = int(batch.tokens.sum())
    none = BeforeUpdate(np.full(count, -1.0), entropy=np.zeros(count), expected=np.zeros(count))
    own = compute_step_weights(batch, plan, none, {}).terms[1].scale.numpy() > 0
    entropy = np.where(own, np.linspace(1, 2, count), 50.0)
    entropy[np.flatnonzero(own)[[0, -1]]] = 0.5, 3.0
    term = compute_step_weights(batch, plan, replace(none, entropy=entropy), {}).terms[1]
    gain = (term.advantage / term.unmodulated).numpy()[own & (term.unmodulated.numpy() > 0)]
    wanted = 1 + 0.2 * (3 - entropy[own & (term.unmodulated.numpy() > 0)]) / 2.5
    np.testing.assert_allclose(gain, wanted, rtol=1e-5)
    assert torch.equal(term.advantage[~own], term.unmodulated[~own])


def test_an_update_without_a_trajectory_has_no_factors():
    plan, trajectories = several(minibatches=8, epochs=1)
    masked = plan.model_copy(update={"groups": [
        group.model_copy(update={"rewards": [None] * 4}) for group in plan.groups]})
    for made, without in ((plan, 2), (masked, 8)):
        trained = learner()
        figures = [trained.forward_backward(made, [] if number else trajectories, update=number)
                   for number in range(made.updates)]
        assert sum("modulation/swing_max" not in one for one in figures) == without
