"""5 turns of 6 actions, paid only if all are right, and a self-teacher that hints: whom does a wrong hint lead astray?

The policy is tabular, one row of logits for each turn; the hint adds 2 to the student's own logit. Figures are named
after the hints (`good`, or `bad` on one turn) and lambda, and are the success at the end. The curve is that of a bad
hint at lambda 1.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from hone.algorithms.catalogue import ADVANTAGES, LOSSES, REGULARIZERS
from hone.algorithms.inputs import AdvantageInputs, LossInputs, RegularizerInputs, Support
from hone.algorithms.regularizers.local_divergence import divergence

TURNS, ACTIONS, GROUPS, SAMPLES, STEPS, RATE, HINT = 5, 6, 4, 8, 150, 1.0, 2.0
EPISODES = GROUPS * SAMPLES
HINTS, LAMBDAS = ("good", "bad"), (0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Episodes:
    """Sampled actions [EPISODES, TURNS] and both policies on every turn, log-probabilities [TURNS, ACTIONS]."""

    actions: Tensor
    student: Tensor  # with gradient
    teacher: Tensor


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train with every kind of hint and every lambda; action 0 is right on all turns."""
    runs = {f"{hint} {weight:g}": _train(variant, hint == "bad", weight, seed) for hint in HINTS for weight in LAMBDAS}
    curve, misled = runs["bad 1"]
    return Outcome({**{name: success[-1] for name, (success, _) in runs.items()}, "bad 1, misled turn": misled}, curve)


def _train(variant: str, misled: bool, weight: float, seed: int) -> tuple[list[float], float]:
    """Return the success after each step, and how probable the right action of the first turn is in the end."""
    generator, curve = torch.Generator().manual_seed(seed), list[float]()
    logits = torch.zeros(TURNS, ACTIONS, dtype=torch.float64, requires_grad=True)
    hint = torch.zeros(TURNS, ACTIONS, dtype=torch.float64)
    hint[range(TURNS), [int(misled), *[0] * (TURNS - 1)]] = HINT
    for _ in range(STEPS):
        student = logits.log_softmax(1)
        actions = torch.multinomial(student.detach().exp(), EPISODES, replacement=True, generator=generator).T
        episodes = Episodes(actions, student, (logits.detach() + hint).log_softmax(1))
        gradient, = torch.autograd.grad(_loss(variant, episodes, weight), logits)
        with torch.no_grad():
            logits -= TURNS * RATE * gradient
        curve.append(float(logits.detach().softmax(1)[:, 0].prod()))
    return curve, float(logits.detach()[0].softmax(0)[0])


def _loss(variant: str, episodes: Episodes, weight: float) -> Tensor:
    """Return the token-mean of GRPO's loss and of the variant's term."""
    logp, word = _said(episodes.student, episodes.actions), _said(episodes.teacher, episodes.actions)
    loss, _, _ = LOSSES["ppo_clip"](LossInputs(logp, logp.detach(), _advantage(episodes.actions)), {}, {})
    if variant == "grpo":
        return loss.mean()
    if variant == "opsd":
        return loss.mean() + weight * _reverse_kl(episodes)
    params: dict[str, Any] = {"coefficient": weight, **({"beta": 0.0} if variant == "beta=0" else {})}
    term, _, _ = REGULARIZERS["sdar"](RegularizerInputs(logp, logp_teacher=word), params, {})
    return (loss + term).mean()


def _said(policy: Tensor, actions: Tensor) -> Tensor:
    return policy.gather(1, actions.T).T.flatten()


def _advantage(actions: Tensor) -> Tensor:
    reward = (actions == 0).all(1).double().numpy()
    group, turns = np.arange(EPISODES) // SAMPLES, np.full(EPISODES, TURNS)
    values, _, _ = ADVANTAGES["grpo"](AdvantageInputs(reward, group, turns, np.full(EPISODES, np.nan)), {}, {})
    return torch.from_numpy(np.asarray(values))


def _reverse_kl(episodes: Episodes) -> Tensor:
    """Return the mean over turns of KL(student || teacher), exact."""
    nothing = torch.full((TURNS,), -torch.inf, dtype=torch.float64)
    return divergence(Support(episodes.teacher, episodes.student, nothing), "truncated", "reverse").mean()


def _always_learns(means: Means) -> bool:
    return all(means["sdar"][f"{hint} {weight:g}"] > 0.9 for hint in HINTS for weight in LAMBDAS)


SDAR = Experiment(
    "sdar.md (b)", "Does a gate keep a wrong hint from overruling the reward?", "success, bad hint, lambda 1",
    ("grpo", "beta=0", "opsd", "sdar"), run,
    (Expectation("sdar > .9 in all six cells", _always_learns),
     Expectation("at lambda 1 with a bad hint opsd < .1", lambda m: m["opsd"]["bad 1"] < 0.1)),
    seeds=12)
