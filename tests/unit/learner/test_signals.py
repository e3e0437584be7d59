"""Phase A in numbers: tracks with tokens of their own, modulation over the whole step, weights whose mean is 1."""

import numpy as np
import pytest
import torch

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.advantages.inputs import Track
from hone.algorithms.method import Method
from hone.trajectory.packing import pack
from services.learner.trainer.learner import Learner
from services.learner.trainer.signals import Known, estimate
from tests.unit.learner.test_learner import OPTIMIZER, assert_equal_gradients, gradient, learner
from tests.unit.trajectory.samples import call, plan, random_episodes, random_step, trajectory


def two_tracks(inputs, _, state):
    """1 on every token, and -2 on the first token of each trajectory, which weighs a quarter."""
    first = np.zeros(int(inputs.tokens.sum()), np.bool_)
    first[np.cumsum(inputs.tokens) - inputs.tokens] = True
    everywhere = np.ones(len(first))
    return [Track("all", everywhere, np.ones(len(first), np.bool_)),
            Track("first", -2 * everywhere, first, 0.25, "reinforce")], state, {}


@pytest.fixture
def tracks(monkeypatch):
    monkeypatch.setitem(ADVANTAGES, "grpo", Method(two_tracks, ADVANTAGES["grpo"].params))


@pytest.mark.usefixtures("tracks")
@pytest.mark.parametrize(("aggregation", "whole", "first"), [
    ("token-mean", [1 / 6] * 6, [0.125, 0, 0.125, 0, 0, 0]),
    ("seq-mean-token-mean", [1 / 4] * 2 + [1 / 8] * 4, [0.125, 0, 0.125, 0, 0, 0]),
    ("seq-mean-token-sum", [1 / 2] * 6, [0.125, 0, 0.125, 0, 0, 0]),
])
def test_a_track_is_averaged_over_its_own_tokens(aggregation, whole, first):
    step = plan({0: [1.0, 0.0]}, {"aggregation": {"name": aggregation}})
    batch = pack(step, [trajectory(0, 0, call([1], [2, 3])), trajectory(0, 1, call([1], [2, 3, 4, 5]))])
    everywhere, alone = estimate(batch, step, Known(), {}).terms
    np.testing.assert_allclose(everywhere.scale, whole)
    np.testing.assert_allclose(alone.scale, first)
    assert (everywhere.loss, alone.loss) == (None, "reinforce")


@pytest.mark.usefixtures("tracks")
def test_tracks_add_up_to_the_same_gradient_however_the_step_is_cut():
    step = random_step(seed=3)
    (whole, at_once), (cut, parts) = gradient(step), gradient(step, token_budget=30)
    assert_equal_gradients(at_once, parts)
    assert cut["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert {"loss/all/ratio_mean"} <= set(whole)


@pytest.mark.usefixtures("tracks")
def test_the_gradient_of_tracks_is_the_sum_of_theirs(monkeypatch):
    both = gradient(random_step(seed=4))[1]
    names = dict(both)
    expected = {name: torch.zeros_like(tensor) for name, tensor in names.items()}
    for place in (0, 1):
        def alone(inputs, params, state, place=place):
            return [two_tracks(inputs, params, state)[0][place]], state, {}

        monkeypatch.setitem(ADVANTAGES, "grpo", Method(alone, ADVANTAGES["grpo"].params))
        for name, tensor in gradient(random_step(seed=4))[1].items():
            expected[name] += tensor
    assert_equal_gradients(both, expected)


def test_normalized_weights_have_mean_1_over_the_step():
    step, trajectories = random_step(seed=5, algorithm={
        "correction": {"name": "tis", "params": {"normalize": True}}, "skip_zero_advantage": False})
    whole = learner().forward_backward(step, trajectories)
    parts = learner(token_budget=30).forward_backward(step, trajectories)
    assert whole["correction/weight_mean"] == pytest.approx(1.0, abs=1e-5)
    assert parts["correction/weight_mean"] == pytest.approx(1.0, abs=1e-5)
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-4)


def test_in_bypass_mode_the_ratio_of_the_loss_compares_with_the_sampler():
    step, trajectories = random_step(seed=6, algorithm={"correction": {"name": "bypass"}})
    told = learner().forward_backward(step, trajectories)
    decoupled = learner().forward_backward(*random_step(seed=6))
    assert decoupled["loss/ratio_mean"] == pytest.approx(1.0)
    assert told["loss/ratio_mean"] == pytest.approx(decoupled["correction/weight_mean"], rel=0.5)
    assert abs(told["loss/ratio_mean"] - 1) > 0.01


@pytest.mark.parametrize("advantage", ["rdpo", "hian"])
def test_what_estimators_carry_from_step_to_step_survives_an_interrupt(advantage):
    algorithm = {"advantage": {"name": advantage}}
    steps = [random_episodes(seed=seed, algorithm=algorithm) for seed in range(4)]
    straight, stopped = learner(), learner()
    for place, step in enumerate(steps):
        for trained in (straight, stopped):
            trained.forward_backward(*step)
            trained.optim_step(1e-3, 1.0)
        stopped = Learner.restore(stopped.snapshot(), OPTIMIZER, token_budget=10_000)
        assert stopped.snapshot() == straight.snapshot(), place
    assert straight._states["advantage"]
