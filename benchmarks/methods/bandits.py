"""64 softmax bandits of 64 arms whose right arm is unlikely: how soon does a policy loss let it grow?"""

import math
from functools import cache
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.catalogue import ADVANTAGES, LOSSES
from hone.algorithms.inputs import AdvantageInputs, LossInputs

BANDITS, ARMS, SAMPLES, UPDATES, RATE, BATCHES, START = 64, 64, 16, 16, 0.2, 60, 0.01


@cache
def run(loss: str, seed: int) -> Outcome:
    """Train with GRPO's advantage and a policy loss; success is the mean probability of the right arm."""
    generator, logits, curve = torch.Generator().manual_seed(seed), _fresh(), []
    for _ in range(BATCHES):
        arms = torch.multinomial(logits.detach().softmax(1), SAMPLES, replacement=True, generator=generator)
        _train_on(logits, arms, loss)
        curve.append(float(logits.detach().softmax(1)[:, 0].mean()))
    return Outcome({"success at 20": curve[19], "success at 60": curve[59], "area": fmean(curve)}, curve)


def _fresh() -> Tensor:
    logits = torch.zeros(BANDITS, ARMS)
    logits[:, 0] = math.log(START * (ARMS - 1) / (1 - START))
    return logits.requires_grad_()


def _train_on(logits: Tensor, arms: Tensor, loss: str) -> None:
    """Take sixteen steps on one batch of arms [BANDITS, SAMPLES]; arm 0 is the right one."""
    advantage = _advantage(arms)
    old = logits.detach().log_softmax(1).gather(1, arms)
    for _ in range(UPDATES):
        logp = logits.log_softmax(1).gather(1, arms)
        flat = LossInputs(logp.flatten(), old.flatten(), advantage)
        per_sample, _, _ = LOSSES[loss](flat, {}, {})
        gradient, = torch.autograd.grad(per_sample.view_as(arms).mean(dim=1).sum(), logits)
        with torch.no_grad():
            logits -= RATE * gradient


def _advantage(arms: Tensor) -> Tensor:
    reward = (arms == 0).double().numpy().ravel()
    group, tokens = np.repeat(np.arange(BANDITS), SAMPLES), np.ones(reward.size, np.int64)
    values, _, _ = ADVANTAGES["grpo"](AdvantageInputs(reward, group, tokens, np.full(reward.size, np.nan)), {}, {})
    return torch.from_numpy(np.asarray(values)).float()


CLIP_HIGHER = Experiment(
    "baselines.md (b)", "Does a wider band upwards let an unlikely right arm grow sooner?", "success",
    ("ppo_clip", "clip_higher"), run,
    (Expectation("clip_higher > ppo_clip in area", lambda m: m["clip_higher"]["area"] > m["ppo_clip"]["area"]),))

MASPO = Experiment(
    "maspo.md (b)", "Does a soft gate, wider for unlikely tokens, beat a hard band?", "success",
    ("ppo_clip", "clip_higher", "maspo"), run,
    (Expectation("maspo > 1.5 x clip_higher in area", lambda m: m["maspo"]["area"] > 1.5 * m["clip_higher"]["area"]),
     Expectation("clip_higher > ppo_clip in area", lambda m: m["clip_higher"]["area"] > m["ppo_clip"]["area"])))
