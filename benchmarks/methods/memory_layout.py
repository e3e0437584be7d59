"""A memory of two parts, each written at one of four sizes, read as an image of few tokens: what stays legible?

The channel is the spec's surrogate: a part of L characters at scale s covers 128 L s^2 pixels, a budget of B tokens
shrinks the page by gamma = min(1, sqrt(784 B / area)), and a character is legible with
probability sigmoid((16 s gamma - 7) / 0.7).
"""

from collections.abc import Mapping
from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.advantages.memocr import MemocrParams, memocr
from hone.algorithms.inputs import AdvantageInputs, Floats, Ints
from hone.trajectory.turns import Turns

SCALES, LENGTHS = np.array([0.4, 1.0, 1.5, 3.0]), np.array([40, 2000])  # characters: crucial, details
GROUP, STEPS, RATE, FULL, SHRUNKEN = 16, 400, 1.0, 512, 32
READ = (("1024", 0, 1024), ("256", 0, 256), ("64", 0, 64), ("16", 0, 16), ("details", 1, FULL))
WEIGHTS: Mapping[str, MemocrParams] = {
    "std": MemocrParams(w_augm=0, w_augq=0), "std+augQ": MemocrParams(w_augm=0),
    "std+augM": MemocrParams(w_augq=0), "all": MemocrParams(),
}


@cache
def run(tasks: str, seed: int) -> Outcome:
    """Train the two choices of size; figures are expected legibilities, of the crucial part but for the last."""
    rng, logits, curve = np.random.default_rng(seed), np.zeros((2, len(SCALES))), []
    for _ in range(STEPS):
        choices = _drawn(logits, rng)
        advantage = _advantage(_rewards(choices, rng), WEIGHTS[tasks])
        for part in (0, 1):
            taken = np.eye(len(SCALES))[choices[:, part]]
            logits[part] += RATE * (advantage[:, None] * (taken - _softmax(logits[part]))).mean(axis=0)
        curve.append(_expected(logits, 0, 16))
    return Outcome({name: _expected(logits, part, budget) for name, part, budget in READ}, curve)


def legibility(scales: Floats, budget: int) -> Floats:
    """Return each part's probability that a character is legible, for the scales of both parts [..., 2]."""
    area = (128 * LENGTHS * scales**2).sum(axis=-1, keepdims=True)
    gamma = np.minimum(1, np.sqrt(784 * budget / area))
    found: Floats = 1 / (1 + np.exp(-(16 * scales * gamma - 7) / 0.7))
    return found


def _softmax(logits: Floats) -> Floats:
    grown = np.exp(logits - logits.max())
    return np.asarray(grown / grown.sum())


def _drawn(logits: Floats, rng: np.random.Generator) -> Ints:
    return np.stack([rng.choice(len(SCALES), GROUP, p=_softmax(row)) for row in logits], axis=1)


def _rewards(choices: Ints, rng: np.random.Generator) -> Floats:
    """Draw whether std, augM and augQ are answered, [GROUP, 3]."""
    full, shrunken = (legibility(SCALES[choices], budget) for budget in (FULL, SHRUNKEN))
    chances = np.stack([full[:, 0], shrunken[:, 0], full[:, 1]], axis=1)
    return (rng.random(chances.shape) < chances).astype(np.float64)


def _advantage(rewards: Floats, params: MemocrParams) -> Floats:
    """Return what memocr gives the drafts, one token each."""
    rows, ones = np.arange(GROUP), np.ones(GROUP, np.int64)
    inputs = AdvantageInputs(
        rewards[:, 0], np.zeros(GROUP, np.int64), ones, np.full(GROUP, np.nan),
        components=dict(zip(("std", "augM", "augQ"), rewards.T, strict=True)),
        turns=Turns(rows, ones, np.zeros(GROUP), rows, ("draft",) * GROUP))
    return memocr(inputs, params, {})[0]


def _expected(logits: Floats, part: int, budget: int) -> float:
    """Average the legibility of a part over the policy's sixteen layouts."""
    chances = np.outer(*(_softmax(row) for row in logits))
    layouts = np.stack(np.meshgrid(SCALES, SCALES, indexing="ij"), axis=-1)
    return float((chances * legibility(layouts, budget)[..., part]).sum())


MEMOCR = Experiment(
    "memocr.md (b)", "Do a shrunken reading and a question of detail teach a layout that survives small budgets?",
    "legibility of the crucial part at budget 16", tuple(WEIGHTS), run,
    (Expectation("all-three beats std by > 0.2 at budget 16", lambda m: m["all"]["16"] > m["std"]["16"] + 0.2),
     Expectation("while details stay > 0.9", lambda m: m["all"]["details"] > 0.9),
     Expectation("dropping augQ loses details: < 0.9", lambda m: m["std+augM"]["details"] < 0.9)), seeds=5)
