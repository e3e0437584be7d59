"""Five decisions by a tabular policy that a self-teacher with lessons teaches, round after round: does it collapse?

Seven actions: 0 searches, 1 answers, 2 to 6 are tools. Each step has a right action, the last one's is to answer;
answering ends the episode, another wrong action leaves the track for good, unseen by the student. The teacher is the
policy at the round's start with a bonus for each item that names an action: step-wise the item of this step, global
all five at every step; off the track it can only say "search". "weak" starts without a head start, bonus 3.

Whether on-policy training with global lessons collapses depends on what the spec leaves open: it does where each item
adds its own bonus and tools repeat, as here; with one bonus for each named action it does not.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch
from torch import Tensor

from benchmarks.methods.experience_pool import SelectionParams, select
from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from hone.algorithms.catalogue import ADVANTAGES, LOSSES
from hone.algorithms.inputs import AdvantageInputs, Floats, Ints, LossInputs

STEPS, ACTIONS, SEARCH, ANSWER = 5, 7, 0, 1
ROUNDS, UPDATES, EPISODES, NOISE, RATE = 4, 30, 16, 0.5, 10.0
STARTS = {"strong": (2.5, 1.5), "weak": (0.0, 3.0)}
"""Logit that right actions start with, and the teacher's bonus."""


@dataclass
class Agent:
    """Steps with their right actions, the student, and the teacher of the round."""

    random: np.random.Generator
    start: float
    bonus: float
    injection: str
    right: Ints = field(init=False)  # [STEPS]
    logits: Tensor = field(init=False)  # [STEPS, ACTIONS]
    teacher: Floats = field(init=False)  # [2, STEPS, ACTIONS], log-probabilities off the track and on it

    def __post_init__(self) -> None:
        """Draw the right actions, tools before the answer, and a noisy policy."""
        self.right = np.append(self.random.integers(2, ACTIONS, size=STEPS - 1), ANSWER)
        logits = NOISE * self.random.standard_normal((STEPS, ACTIONS))
        logits[np.arange(STEPS), self.right] += self.start
        self.logits = torch.from_numpy(logits).requires_grad_()

    def freeze(self) -> None:
        """Make the present policy, reading its lessons, the teacher."""
        named = np.zeros((2, STEPS, ACTIONS))
        named[0, :, SEARCH] = 1
        pool = {f"G{step}": str(action) for step, action in enumerate(self.right)}
        for step in range(STEPS):
            asked = list(pool) if self.injection == "global" else [f"G{step}"]
            selected = select(pool, [asked], {}, SelectionParams())
            np.add.at(named[1, step], [int(text) for text in selected.items.values()], 1)
        self.teacher = _log_softmax(self.logits.detach().numpy() + self.bonus * named)

    def play(self, teaching: bool) -> tuple[Ints, Ints, Ints]:
        """Return step, action and whether it was on the track, [M] each, of episodes that teacher or student runs."""
        student = np.broadcast_to(_log_softmax(self.logits.detach().numpy()), (2, STEPS, ACTIONS))
        logp = self.teacher if teaching else student
        on, alive, seen = np.ones(EPISODES, np.int64), np.ones(EPISODES, np.bool_), []
        for step in range(STEPS):
            action = (logp[on, step] + self.random.gumbel(size=(EPISODES, ACTIONS))).argmax(1)
            seen.append(np.stack([np.full(EPISODES, step), action, on])[:, alive])
            on *= action == self.right[step]
            alive &= action != ANSWER
        steps, actions, track = np.concatenate(seen, axis=1)
        return steps, actions, track

    def learn(self, regime: str) -> None:
        """Take one step: likelihood of the teacher's actions, or the teacher's word on one's own, in expectation."""
        steps, _, track = self.play(regime == "off-policy")
        logp = self.logits.log_softmax(1)[torch.from_numpy(steps)].flatten()
        old, teacher = logp.detach(), torch.from_numpy(self.teacher[track, steps].ravel())
        advantage, drawn, loss = torch.ones_like(old), teacher, "mle"
        if regime == "on-policy":
            advantage, drawn, loss = torch.from_numpy(_advantage(teacher.numpy(), old.numpy())), old, "ppo_clip"
        each, _, _ = LOSSES[loss](LossInputs(logp, old, advantage), {}, {})
        gradient, = torch.autograd.grad((drawn.exp() * each).sum() / len(steps), self.logits)
        with torch.no_grad():
            self.logits -= RATE * gradient

    def success(self) -> float:
        """Return the exact success without lessons."""
        return float(np.exp(_log_softmax(self.logits.detach().numpy())[np.arange(STEPS), self.right].sum()))


def _log_softmax(logits: Floats) -> Floats:
    logp: Floats = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return logp


def _advantage(teacher: Floats, old: Floats) -> Floats:
    """Return on-policy distillation's advantage of each action."""
    one = np.ones(len(old), np.int64)
    inputs = AdvantageInputs(np.zeros(len(old)), one, one, np.full(len(old), np.nan), logp_old=old,
                             logp_teacher=teacher)
    return np.asarray(ADVANTAGES["opd"](inputs, {}, {})[0])


@cache
def run(variant: str, seed: int) -> Outcome:
    """Distil for four rounds; r0 to r4 are the plain success after each."""
    start, regime, injection = variant.split(" ")
    agent = Agent(np.random.default_rng(seed), *STARTS[start], injection)
    curve = [agent.success()]
    for _ in range(ROUNDS):
        agent.freeze()
        for _ in range(UPDATES):
            agent.learn(regime)
        curve.append(agent.success())
    return Outcome({f"r{turn}": success for turn, success in enumerate(curve)}, curve)


def _sooner(means: Means) -> bool:
    off, on = means["weak off-policy step-wise"], means["weak on-policy step-wise"]
    return all(off[turn] > on[turn] for turn in ("r1", "r2", "r3"))


def _third(means: Means, injection: str) -> list[float]:
    return [means[f"strong {regime} {injection}"]["r3"] for regime in ("on-policy", "off-policy")]


EXPERIENCE = Experiment(
    "experience-internalization.md (b)", "Which way of giving lessons survives repeated distillation?", "success",
    ("strong on-policy global", "strong off-policy global", "strong on-policy step-wise",
     "strong off-policy step-wise", "weak on-policy step-wise", "weak off-policy step-wise"), run,
    (Expectation("both step-wise rows > .8 at r3", lambda m: min(_third(m, "step-wise")) > 0.8),
     Expectation("both global rows < .15 at r3", lambda m: max(_third(m, "global")) < 0.15),
     Expectation("collapse of on-policy + global: r4 < r1/2",
                 lambda m: m["strong on-policy global"]["r4"] < m["strong on-policy global"]["r1"] / 2),
     Expectation("off > on at r1 to r3 from the weak start", _sooner)),
    seeds=12)
