"""Two bits, one rewarded eight times over with a little noise, one once: how soon is the second bit learnt?

`stage 1` is RDPO that never whitens, so each reward's scores are divided by their RMS only, as where rows are few;
m = 1 where the spread factor is switched off as well. `x 100`: the copies' rewards times 100. The spec runs 300
steps; here it is 120, which also stands for a bit that was not learnt by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs, Floats
from hone.algorithms.method import State

GROUPS, SIZE, STEPS, RATE, COPIES, NOISE, LEARNT = 8, 16, 120, 0.3, 8, 0.02, 0.9
ROWS = GROUPS * SIZE
GROUP = np.repeat(np.arange(GROUPS), SIZE)
NAMES = (*(f"copy_{k}" for k in range(COPIES)), "single")


@dataclass(frozen=True)
class Variant:
    """An estimator, and what the copies' rewards are multiplied with."""

    estimator: str
    params: Mapping[str, Any] = field(default_factory=dict)
    scale: float = 1.0


UNWHITENED = {"min_rows": 10**6}
VARIANTS = {
    "gdpo": Variant("gdpo", {"std_ddof": 0}),
    "stage 1, m=1": Variant("rdpo", {**UNWHITENED, "reference": dict.fromkeys(NAMES, 1e-8)}),
    "stage 1": Variant("rdpo", UNWHITENED),
    "rdpo": Variant("rdpo"),
    "rdpo x 100": Variant("rdpo", scale=100.0),
    "grpo": Variant("grpo", {"std_ddof": 0}),
    "grpo x 100": Variant("grpo", {"std_ddof": 0}, scale=100.0),
}


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train and count the steps until each bit is set with a probability above 0.9."""
    generator, logits, chances = np.random.default_rng(seed), np.zeros(2), []
    state: State = {}
    for _ in range(STEPS):
        bits = (generator.random((ROWS, 2)) < _sigmoid(logits)).astype(np.float64)
        advantage, state = _advantage(VARIANTS[variant], bits, generator, state)
        logits = logits + RATE * (advantage[:, None] * (bits - _sigmoid(logits))).mean(axis=0)
        chances.append(_sigmoid(logits))
    first, second = np.array(chances).T
    return Outcome({"steps of bit 1": _steps(first), "steps of bit 2": _steps(second)}, second.tolist())


def _advantage(variant: Variant, bits: Floats, generator: np.random.Generator, state: State) -> tuple[Floats, State]:
    copies = bits[:, :1] + NOISE * generator.standard_normal((ROWS, COPIES))
    rewards = np.column_stack([variant.scale * copies, bits[:, 1]])
    inputs = AdvantageInputs(rewards.sum(axis=1), GROUP, np.ones(ROWS, np.int64), np.full(ROWS, np.nan),
                             components=dict(zip(NAMES, rewards.T, strict=True)))
    values, state, _ = ADVANTAGES[variant.estimator](inputs, variant.params, state)
    return np.asarray(values, np.float64), state


def _steps(chances: Floats) -> float:
    """Return after how many steps the chance first exceeds 0.9; all steps where it never does."""
    reached = np.flatnonzero(chances > LEARNT)
    return float(reached[0] + 1) if len(reached) else float(STEPS)


def _sigmoid(logits: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-logits))
    return chances


BIT = "steps of bit 2"

RDPO = Experiment(
    "rdpo.md (b)", "Do eight copies of one reward drown another?", "probability of bit 2", tuple(VARIANTS), run,
    (Expectation("full < GDPO", lambda m: m["rdpo"][BIT] < m["gdpo"][BIT]),
     Expectation("full < stage 1 with m = 1", lambda m: m["rdpo"][BIT] < m["stage 1, m=1"][BIT]),
     Expectation("multiply the copies' reward by 100: RDPO unchanged",
                 lambda m: m["rdpo x 100"][BIT] == m["rdpo"][BIT])),
    seeds=5)
