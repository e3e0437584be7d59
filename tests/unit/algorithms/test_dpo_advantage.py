"""DPO as an estimator: its weights are those of the pairwise loss, through the trainer and by hand."""

import math

import numpy as np
import pytest
import torch

from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs
from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack
from services.learner.trainer.learner import Learner
from tests.support.learner.learners import OPTIMIZER, assert_equal_gradients, learner
from tests.unit.trajectory.samples import call, plan, trajectory


def dpo_advantage(given, params):
    return ADVANTAGES["dpo"](given, params, {})


def inputs(kl, reward, group, tokens):
    return AdvantageInputs(np.array(reward, float), np.array(group), np.array(tokens), np.full(len(tokens), math.nan),
                           kl=np.array(kl, float))


def test_a_pair_pushes_apart_by_how_wrong_it_is():
    given = inputs([0.5, 0.5, -1.0], [1, 0], [0, 0], [2, 1])
    advantage, _, metrics = dpo_advantage(given, {"beta": 0.5})
    weight = 2 * 0.5 / (1 + math.exp(0.5 * 2))
    assert advantage.tolist() == pytest.approx([weight, weight, -weight])
    assert metrics == pytest.approx(
        {"pairs": 1, "unpaired": 0, "pair_loss": math.log(1 + math.exp(-1)), "pair_margin": 1, "pair_accuracy": 1})


@pytest.mark.parametrize(("reward", "group"), [([1, 1], [0, 0]), ([1, 0], [0, 1]), ([1, 0, 0], [0, 0, 0])])
def test_what_is_no_pair_moves_nothing(reward, group):
    advantage, _, metrics = dpo_advantage(inputs([0.1] * len(group), reward, group, [1] * len(group)), {})
    assert not advantage.any()
    assert (metrics["pairs"], metrics["unpaired"]) == (0, len(group))


def test_without_a_reference_it_is_refused():
    with pytest.raises(ValueError, match="logp_ref: found none"):
        dpo_advantage(AdvantageInputs(np.ones(1), np.zeros(1, int), np.ones(1, int), np.ones(1)), {})


def pairs(seed=0):
    draw = torch.Generator().manual_seed(seed)

    def ids(most):
        return torch.randint(32, (int(torch.randint(1, most, (1,), generator=draw)),), generator=draw).tolist()
    prompts = [ids(6) for _ in range(5)]
    return [trajectory(0, index, call(prompt, ids(9), logp_sample=[]), request_no=place)
            for place, prompt in enumerate(prompts) for index in (0, 1)]


@pytest.mark.parametrize("length_norm", [False, True])
def test_the_trainer_takes_the_gradient_of_the_pairwise_loss(length_norm):
    algorithm = {"preset": "dpo", "advantage": {"name": "dpo", "params": {"beta": 0.3, "length_norm": length_norm}}}
    step, samples = plan({}, algorithm), pairs()
    trained = drifted(step, samples)
    cut_up = Learner.restore(trained.snapshot(), OPTIMIZER, token_budget=20)
    batch = pack(step, samples)
    [micro] = cut(batch, np.ones(10, np.bool_), 10_000)
    logp = trained.models.policy(micro)[0]
    with torch.no_grad():
        reference = trained.models.reference(micro)[0]
    place = torch.from_numpy(micro.trajectory)
    sums = torch.zeros(10).index_add(0, place, logp - reference)
    ratios = sums / torch.bincount(place) if length_norm else sums
    loss = -torch.nn.functional.logsigmoid(0.3 * (ratios[0::2] - ratios[1::2])).mean()
    parameters = trained.models.policy.trained
    expected = dict(zip(parameters, torch.autograd.grad(loss, parameters.values()), strict=True))
    for one in (trained, cut_up):
        figures = one.forward_backward(step, samples)
        assert figures["advantage/pair_loss"] == pytest.approx(loss.item(), rel=1e-5)
        assert_equal_gradients({name: tensor.grad for name, tensor in one.models.policy.trained.items()}, expected)


def drifted(step, samples):
    """A learner some updates away from its reference."""
    trained = learner()
    for _ in range(3):
        trained.forward_backward(step, samples)
        trained.optim_step(1e-2, 1.0)
    return trained


def test_the_margin_of_pairs_grows_with_every_update():
    step, samples = plan({}, {"preset": "dpo"}), pairs(3)
    trained, losses = learner(), []
    for _ in range(8):
        losses.append(trained.forward_backward(step, samples)["advantage/pair_loss"])
        trained.optim_step(3e-3, 1.0)
    assert losses[0] == pytest.approx(math.log(2))
    assert losses == sorted(losses, reverse=True)
