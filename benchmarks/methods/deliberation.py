"""Questions with ten possible answers and a tempting wrong one: can reading all attempts beat their vote?

Answer 0 is right, answer 1 the tempting one. An attempt carries a check that is more often passed by right answers. A
deliberator picks one of the answers given, by three features of each, or derives anew: as good as one more attempt.
The spec leaves the skill of that open. Votes, means and deliberations are measured on 2000 fresh questions.
"""

from dataclasses import dataclass
from functools import cache
from statistics import fmean

import numpy as np

from benchmarks.methods.attempts import any_correct, mean_correct
from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from hone.algorithms.advantages.heavyskill import HeavyskillParams, heavyskill
from hone.algorithms.inputs import AdvantageInputs, Flags, Floats, Ints
from hone.graders.each_call import vote
from hone.trajectory.turns import Turns

ANSWERS, SKILLS, TEMPTED, PASSES = 10, (0.35, 0.65), 0.6, (0.35, 0.8)  # a check passes if wrong, if right
QUESTIONS, GROUP, STEPS, RATE, START = 16, 8, 400, 1.0, (2.0, 0.0, 0.0, 0.0)
MEASURED, DELIBERATIONS, EVERY = 2000, 4, 10
WIDTHS = {"K=4": 4, "K=8": 8, "K=16": 16}


@dataclass(frozen=True)
class Questions:
    """N questions, each with K attempts."""

    skill: Floats  # [N], chance that an attempt is right
    answers: Ints  # [N, K]
    options: Floats  # [N, 11, 4], features of each answer and of deriving anew
    offered: Flags  # [N, 11], whether the deliberator may choose it


@cache
def run(width: str, seed: int) -> Outcome:
    """Train a deliberator over K attempts; the curve is its mean correctness while it learns."""
    rng, weights, k, curve = np.random.default_rng(seed), np.array(START), WIDTHS[width], []
    held_out = _asked(MEASURED, k, rng)
    figures = _of_attempts(held_out) | _of_deliberations(held_out, weights, "before", rng)
    for step in range(STEPS):
        if step % EVERY == 0:
            curve.append(float(_deliberated(held_out, weights, 1, rng)[1].mean()))
        weights = weights + RATE * _gradient(_asked(QUESTIONS, k, rng), weights, rng)
    return Outcome(figures | _of_deliberations(held_out, weights, "after", rng), curve)


def _asked(count: int, k: int, rng: np.random.Generator) -> Questions:
    skill = rng.choice(SKILLS, count)
    wrong = np.where(rng.random((count, k)) < TEMPTED, 1, rng.integers(2, ANSWERS, (count, k)))
    answers = np.where(rng.random((count, k)) < skill[:, None], 0, wrong)
    checks = rng.random((count, k)) < np.where(answers == 0, PASSES[1], PASSES[0])
    given = answers[:, :, None] == np.arange(ANSWERS)
    votes, passed = given.sum(axis=1), (given & checks[:, :, None]).sum(axis=1)
    options = np.zeros((count, ANSWERS + 1, len(START)))
    options[:, :ANSWERS, :3] = np.stack([votes / k, passed / np.maximum(1, votes), passed / k], axis=2)
    options[:, ANSWERS, 3] = 1
    return Questions(skill, answers, options, np.pad(votes > 0, ((0, 0), (0, 1)), constant_values=True))


def _chances(asked: Questions, weights: Floats) -> Floats:
    """Return the deliberator's softmax, [N, 11]."""
    logits = np.where(asked.offered, asked.options @ weights, -np.inf)
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


def _deliberated(asked: Questions, weights: Floats, times: int, rng: np.random.Generator) -> tuple[Ints, Flags]:
    """Draw choices and whether they are right, [N, times] each."""
    bounds = _chances(asked, weights).cumsum(axis=1)
    chosen = (rng.random((len(bounds), times, 1)) > bounds[:, None, :-1]).sum(axis=2)
    derived = (chosen == ANSWERS) & (rng.random(chosen.shape) < asked.skill[:, None])
    return chosen, (chosen == 0) | derived


def _gradient(asked: Questions, weights: Floats, rng: np.random.Generator) -> Floats:
    """Return the mean of A grad logp over deliberations; on the sampled batch itself no ratio is clipped."""
    chosen, right = _deliberated(asked, weights, GROUP, rng)
    expected = np.einsum("nc,ncf->nf", _chances(asked, weights), asked.options)
    score = np.take_along_axis(asked.options, chosen[:, :, None], axis=1) - expected[:, None]
    return np.asarray((_advantage(right)[:, None] * score.reshape(-1, len(START))).mean(axis=0))


def _advantage(right: Flags) -> Floats:
    """Return what heavyskill gives each deliberation, one token long."""
    rows, ones = np.arange(right.size), np.ones(right.size, np.int64)
    group = np.repeat(np.arange(len(right)), GROUP)
    inputs = AdvantageInputs(
        right.ravel().astype(np.float64), group, ones, np.full(right.size, np.nan),
        turns=Turns(rows, ones, np.zeros(right.size), group, ("deliberate",) * right.size))
    return heavyskill(inputs, HeavyskillParams(), {})[0][0].advantage


def _of_attempts(asked: Questions) -> dict[str, float]:
    answers = asked.answers.tolist()
    correct = [[answer == 0 for answer in given] for given in answers]
    return {"M": fmean(map(mean_correct, correct)), "V": fmean(map(vote, answers, correct)),
            "P": fmean(map(any_correct, correct))}


def _of_deliberations(asked: Questions, weights: Floats, when: str, rng: np.random.Generator) -> dict[str, float]:
    correct = _deliberated(asked, weights, DELIBERATIONS, rng)[1].tolist()
    return {f"HM {when}": fmean(map(mean_correct, correct)), f"HP {when}": fmean(map(any_correct, correct))}


def _widens(means: Means) -> bool:
    return means["K=4"]["HM after"] < means["K=8"]["HM after"] < means["K=16"]["HM after"]


HEAVYSKILL = Experiment(
    "heavyskill.md (b)", "Does a trained deliberation beat the vote over its attempts, more so the more there are?",
    "mean correctness of a deliberation", tuple(WIDTHS), run,
    (Expectation("after training HM > V + 0.05 at every K", lambda m: all(
        figures["HM after"] > figures["V"] + 0.05 for figures in m.values())),
     Expectation("HM < P", lambda m: all(figures["HM after"] < figures["P"] for figures in m.values())),
     Expectation("HM increases with K (width scaling)", _widens)), seeds=3)
