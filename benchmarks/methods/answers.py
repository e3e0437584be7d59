"""One prompt with 8 possible answers, some of them right: what do SCOPE's two paths make of eight rollouts a step?

A trajectory is a prefix that the student always writes, and its answer; only the answer is learned. A step is divided
by the trained tokens, prefix included, so the rate is that of a mean over answers, times a trajectory's tokens.

The spec leaves the length of the noisy teacher's prefix open. It must outweigh the answer in the mean: with a single
token a lost teacher, which endorses the wrong answer, is less surprised by it than a sound one, and the order reverses.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.catalogue import ADVANTAGES, LOSSES
from hone.algorithms.inputs import AdvantageInputs, Flags, Floats, Ints, LossInputs, Track

ANSWERS, ROLLOUTS, RATE, EVEN = 8, 8, 0.3, {"tau": 1e6}


@dataclass(frozen=True)
class World:
    """Where the student starts, how often it is trained, and which of the two paths trains it."""

    start: Sequence[float]  # probability of each answer
    right: int  # the first so many answers are right
    steps: int
    path: str
    params: Mapping[str, Mapping[str, Any]]  # of each variant
    prefix: int = 0  # tokens
    lost: float = 0.0  # share of the rollouts in which the teacher is


DIVERSITY = World(
    [0.5, 0.12, 0.05, 0.03, *[0.075] * 4], 4, 150, "student_path",
    {"uniform": EVEN, "scope": {}, "inverted": {"student_sign": -1}})
NOISY_TEACHER = World(
    [0.05, 0.35, *[0.1] * 6], 1, 60, "teacher_path",
    {"uniform": EVEN, "scope": {}, "inverted": {"teacher_sign": -1}}, prefix=32, lost=0.6)


def run(world: World, variant: str, seed: int) -> Outcome:
    """Train on one path; figures are the right answers' probability and their entropy among themselves, nats."""
    generator, curve = np.random.default_rng(seed), []
    logits = torch.tensor(world.start, dtype=torch.float64).log().requires_grad_()
    for _ in range(world.steps):
        _step(logits, world, world.params[variant], generator)
        curve.append(_figures(logits, world.right))
    shown = "entropy" if world.path == "student_path" else "right"
    return Outcome(curve[-1], [figures[shown] for figures in curve])


def _figures(logits: Tensor, right: int) -> dict[str, float]:
    chances = logits.detach().softmax(0)[:right]
    figures = {"right": float(chances.sum())}
    if right > 1:
        figures["entropy"] = float(torch.special.entr(chances / chances.sum()).sum())
    return figures


def _step(logits: Tensor, world: World, params: Mapping[str, Any], generator: np.random.Generator) -> None:
    student = logits.detach().softmax(0).numpy()
    answers = generator.choice(ANSWERS, ROLLOUTS, p=student)
    teacher = _teacher(student, answers, world, generator)
    logp = torch.nn.functional.pad(logits.log_softmax(0)[answers][:, None], (world.prefix, 0))
    track = _track(logp.detach().numpy(), teacher, answers < world.right, params, world.path)
    if not track.counts.any():
        return
    gradient, = torch.autograd.grad(_loss(logp.flatten(), track), logits)
    with torch.no_grad():
        logits -= RATE * (world.prefix + 1) * gradient


def _teacher(student: Floats, answers: Ints, world: World, generator: np.random.Generator) -> Floats:
    """Return the teacher's word [ROLLOUTS, prefix + 1]; lost, it finds the prefix odd and endorses an error."""
    lost = generator.random(ROLLOUTS) < world.lost
    error = world.right + student[world.right:].argmax()
    answer = np.where(answers == np.where(lost, error, 0), math.log(0.9), math.log(0.1 / (ANSWERS - 1)))
    return np.column_stack([np.where(lost, -1.5, -0.05)[:, None].repeat(world.prefix, axis=1), answer])


def _track(logp: Floats, teacher: Floats, right: Flags, params: Mapping[str, Any], path: str) -> Track:
    tokens, one_group = np.full(ROLLOUTS, logp.shape[1]), np.zeros(ROLLOUTS, np.int64)
    inputs = AdvantageInputs(
        right.astype(np.float64), one_group, tokens, np.full(ROLLOUTS, np.nan),
        logp_old=logp.ravel(), logp_teacher=teacher.ravel())
    tracks, _, _ = ADVANTAGES["scope"](inputs, params, {})
    return next(track for track in cast("list[Track]", tracks) if track.name == path)


def _loss(logp: Tensor, track: Track) -> Tensor:
    """Return the path's loss, averaged over its own tokens."""
    counts = torch.from_numpy(track.counts)
    read = LossInputs(logp, logp.detach(), torch.from_numpy(track.advantage))
    loss, _, _ = LOSSES["ppo_clip" if track.loss == "policy" else "reinforce"](read, {}, {})
    return (loss * counts).sum() / counts.sum()


SCOPE = Experiment(
    "scope.md (b), diversity", "Do weights that favour unlikely right answers keep all of them alive?",
    "entropy among the right answers, nats", tuple(DIVERSITY.params), cache(partial(run, DIVERSITY)),
    (Expectation("entropy(scope) > 3 x entropy(uniform) > entropy(inverted)", lambda m: (
        m["scope"]["entropy"] > 3 * m["uniform"]["entropy"] > m["inverted"]["entropy"])),),
    seeds=40)

SCOPE_TEACHER = Experiment(
    "scope.md (b), noisy teacher", "Do weights that trust an unsurprised teacher find the right answer?",
    "probability of the right answer", tuple(NOISY_TEACHER.params), cache(partial(run, NOISY_TEACHER)),
    (Expectation("P(correct): scope > uniform > inverted", lambda m: (
        m["scope"]["right"] > m["uniform"]["right"] > m["inverted"]["right"])),),
    seeds=60)
