"""64 softmax bandits with 64 arms each: clip-higher finds an unlikely arm sooner than the plain clip."""

import math

import numpy as np
import pytest
import torch

from hone.algorithms.catalogue import ADVANTAGES, LOSSES
from hone.algorithms.inputs import AdvantageInputs, LossInputs

BANDITS, ARMS, SAMPLES, UPDATES, RATE = 64, 64, 16, 16, 0.2


def fresh_logits():
    logits = torch.zeros(BANDITS, ARMS)
    logits[:, 0] = math.log(0.01 * (ARMS - 1) / 0.99)
    return logits.requires_grad_()


def train_on(logits, arms, name):
    """Sixteen updates on one batch of arms [BANDITS, SAMPLES]; arm 0 is the right one."""
    reward = (arms == 0).double().numpy().ravel()
    group, tokens = np.repeat(np.arange(BANDITS), SAMPLES), np.ones(reward.size, np.int64)
    given = AdvantageInputs(reward, group, tokens, reward * np.nan)
    advantage = torch.from_numpy(ADVANTAGES["grpo"](given, {}, {})[0]).float().view(BANDITS, SAMPLES)
    old = logits.detach().log_softmax(1).gather(1, arms)
    for _ in range(UPDATES):
        logp = logits.log_softmax(1).gather(1, arms)
        LOSSES[name](LossInputs(logp, old, advantage), {}, {})[0].mean(dim=1).sum().backward()
        with torch.no_grad():
            logits -= RATE * logits.grad
        logits.grad = None


def success(name, seed, batches):
    generator, logits, curve = torch.Generator().manual_seed(seed), fresh_logits(), []
    for _ in range(batches):
        arms = torch.multinomial(logits.detach().softmax(1), SAMPLES, replacement=True, generator=generator)
        train_on(logits, arms, name)
        curve.append(float(logits.detach().softmax(1)[:, 0].mean()))
    return curve


def test_clip_higher_is_ahead_of_clip_and_both_learn():
    plain, higher = (
        np.mean([success(name, seed, 60) for seed in range(3)], axis=0) for name in ("ppo_clip", "clip_higher"))
    assert higher[19] > 1.5 * plain[19]
    assert higher[59] > plain[59] > 0.85


@pytest.mark.parametrize("name", ["ppo_clip", "clip_higher", "dual_clip"])
def test_groups_that_are_all_wrong_move_nothing(name):
    logits = fresh_logits()
    train_on(logits, torch.ones(BANDITS, SAMPLES, dtype=torch.int64), name)
    assert torch.equal(logits, fresh_logits())
