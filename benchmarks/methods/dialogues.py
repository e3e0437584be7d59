"""Five-turn sales dialogues: does a policy that sells keep repeating itself, where a rule scores each turn?

A turn is plain, persuasive and repetitive, or persuasive and fresh; one logit vector is shared by all turns.
Figures are exact: what the policy does on average, not what it happened to sample.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import comb
from typing import Any

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs, Floats, Ints
from hone.trajectory.turns import Turns

TURNS, GROUPS, SIZE, RATE = 5, 16, 8, 0.5
SESSIONS = GROUPS * SIZE
GROUP = np.repeat(np.arange(GROUPS), SIZE)
PLACE = np.repeat(np.arange(SESSIONS), TURNS)
REPETITIVE = 1


@dataclass(frozen=True)
class World:
    """Where the policy starts, how often n persuasive turns convert, for how many steps it learns."""

    logits: tuple[float, float, float]
    converts: Callable[[Ints], Floats]
    steps: int


@dataclass(frozen=True)
class Variant:
    """An estimator and what a conversion is paid. GRPO reads one sum; HIAN the session and its turns apart."""

    estimator: str
    session: float
    params: Mapping[str, Any] = field(default_factory=dict)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


SOFT = World((0.0, 0.0, -1.0), lambda n: 0.7 * _sigmoid(-2 + 1.5 * (n - 1)), 120)
RARE = World((0.0, 0.0, -2.0), lambda n: _sigmoid(1.2 * n - 2.5), 150)

SCALES = (1, 10, 100)
SCALED = {
    **{f"grpo S={scale}": Variant("grpo", scale, {"std_ddof": 0}) for scale in SCALES},
    **{f"hian S={scale}": Variant("hian", scale) for scale in SCALES},
    "hian S=1 w_turn=0.25": Variant("hian", 1, {"w_turn": 0.25}),
}
RAMP = {"w_turn_schedule": "linear", "w_turn_start": 0.1, "ramp_fraction": 100 / 150}
WEIGHED = {
    **{f"w_turn={weight:g}": Variant("hian", 100, {"w_turn": weight}) for weight in (1, 0.5, 0.25, 0.1)},
    "ramp": Variant("hian", 100, RAMP),
}


@cache
def scaled(variant: str, seed: int) -> Outcome:
    """Train where persuasive turns convert softly, conversions paid S."""
    return _trained(SOFT, SCALED[variant], seed)


@cache
def weighed(variant: str, seed: int) -> Outcome:
    """Train where what converts today is what the rule punishes, and the clean alternative is rare."""
    return _trained(RARE, WEIGHED[variant], seed)


def _trained(world: World, variant: Variant, seed: int) -> Outcome:
    generator, logits, curve = np.random.default_rng(seed), np.array(world.logits), []
    for step in range(world.steps):
        chances = _softmax(logits)
        kinds = generator.choice(3, p=chances, size=(SESSIONS, TURNS))
        converted = generator.random(SESSIONS) < world.converts((kinds > 0).sum(axis=1))
        advantage = _advantage(variant, kinds, variant.session * converted.astype(np.float64), step, world.steps)
        taken = np.eye(3)[kinds.ravel()]
        logits = logits + RATE * (advantage[:, None] * (taken - chances)).mean(axis=0)
        curve.append(_conversion(world, logits))
    return Outcome({"conversion": curve[-1], "repetition": float(_softmax(logits)[REPETITIVE])}, curve)


def _advantage(variant: Variant, kinds: Ints, outcome: Floats, step: int, steps: int) -> Floats:
    scores = -(kinds == REPETITIVE).astype(np.float64)
    ones = np.ones(kinds.size, np.int64)
    turns = Turns(PLACE, ones, scores.ravel(), np.arange(kinds.size), ("agent",) * kinds.size)
    reward = outcome if variant.estimator == "hian" else outcome + scores.sum(axis=1)
    inputs = AdvantageInputs(
        reward, GROUP, np.full(SESSIONS, TURNS), np.full(SESSIONS, np.nan), turns=turns, step=step, steps=steps)
    values, _, _ = ADVANTAGES[variant.estimator](inputs, variant.params, {})
    return np.asarray(values, np.float64)


def _conversion(world: World, logits: Floats) -> float:
    persuasive, counts = 1 - float(_softmax(logits)[0]), np.arange(TURNS + 1)
    ways = np.array([comb(TURNS, n) for n in counts])
    chances = ways * persuasive ** counts * (1 - persuasive) ** (TURNS - counts)
    return float((chances * world.converts(counts)).sum())


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    chances: Floats = weights / weights.sum()
    return chances


def _repeats(means: Means, estimator: str) -> list[float]:
    return [means[f"{estimator} S={scale}"]["repetition"] for scale in SCALES]


def _conversion_gap(means: Means) -> float:
    return max(abs(means[f"hian S={scale}"]["conversion"] - means[f"grpo S={scale}"]["conversion"])
               for scale in SCALES)


HIAN = Experiment(
    "duca.md (b)", "Do turn rules survive beside a session reward of any size S?", "conversion",
    tuple(SCALED), scaled,
    (Expectation("HIAN repetition < 0.02 for every S", lambda m: max(_repeats(m, "hian")) < 0.02),
     Expectation("conversion within 0.02 of GRPO", lambda m: _conversion_gap(m) < 0.02),
     Expectation("GRPO repetition grows with S",
                 lambda m: _repeats(m, "grpo")[0] < _repeats(m, "grpo")[1] < _repeats(m, "grpo")[2])),
    seeds=5)

HIAN_RAMP = Experiment(
    "duca.md (b), second scenario", "Does a rising turn weight keep the conversions that equal weights destroy?",
    "conversion", tuple(WEIGHED), weighed,
    (Expectation("w_turn=1 collapses conversion below 0.2", lambda m: m["w_turn=1"]["conversion"] < 0.2),
     Expectation("the ramp ends above 0.9", lambda m: m["ramp"]["conversion"] > 0.9),
     Expectation("the ramp's repetition < 0.01", lambda m: m["ramp"]["repetition"] < 0.01)),
    seeds=5)
