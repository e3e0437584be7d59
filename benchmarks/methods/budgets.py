"""256 prompts of every difficulty: do unequal shares of 16 rollouts each make the gradient less noisy? DynaMO, part 1.

Success rates are Beta(0.4, 0.4); each prompt is a softmax of 20 actions of which one is right. Figures of `dynamo` are
the exact variance of the gradient (r - p) grad logp, summed over prompts, relative to equal shares: where the rates
are known, and where variances are estimated from 8 samples, with narrow bounds (8, 24) and loose ones (1, 64). The
oracle goes by the gradient's own deviation. The curve is the relative variance of 50 batches of narrow estimates.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.allocation.dynamo import SuccessHistory, SuccessVarianceParams, allocated, dynamo
from hone.algorithms.inputs import Floats, Ints

PROMPTS, MEAN, ACTIONS, SEEN, DRAWS = 256, 16, 20, 8, 50
BUDGET, MANY = PROMPTS * MEAN, 1e12
BOUNDS: Mapping[str, tuple[int, int]] = {"narrow": (8, 24), "loose": (1, 64)}


class World(NamedTuple):
    """Success rates of the prompts and the variance that one sample's gradient has, [PROMPTS]."""

    rates: Floats
    variance: Floats

    def relative(self, shares: Ints) -> float:
        """Return the variance of the batch's gradient, 1 for equal shares."""
        return float((self.variance / shares).sum() / (self.variance / MEAN).sum())


@cache
def run(variant: str, seed: int) -> Outcome:
    """Share out the budget by known rates and by estimated ones."""
    random = np.random.default_rng(seed)
    world = _world(random.beta(0.4, 0.4, PROMPTS).clip(1e-6, 1 - 1e-6))
    counts = random.binomial(SEEN, world.rates, (DRAWS, PROMPTS)).astype(np.float64)
    figures: dict[str, float] = {}
    curve: list[float] = []
    for name, bounds in BOUNDS.items():
        figures[f"{name}, known"] = world.relative(_shares(variant, world, world.rates * MANY, MANY, bounds))
        drawn = [world.relative(_shares(variant, world, seen, SEEN, bounds)) for seen in counts]
        figures[f"{name}, estimated"] = float(np.mean(drawn))
        curve = curve or drawn
    return Outcome(figures, curve)


def _world(rates: Floats) -> World:
    """The right action has the rate p, the others share the rest: exact moments of (r - p) (onehot - pi)."""
    other = (1 - rates) / (ACTIONS - 1)
    chances = np.column_stack([rates, *([other] * (ACTIONS - 1))])
    norm = (chances**2).sum(axis=1)[:, None] - 2 * chances + 1  # |onehot_a - pi|^2
    paid = np.eye(ACTIONS)[0] - rates[:, None]
    mean = chances * (paid - (chances * paid).sum(axis=1, keepdims=True))
    return World(rates, (chances * paid**2 * norm).sum(axis=1) - (mean**2).sum(axis=1))


def _shares(variant: str, world: World, successes: Floats, samples: float, bounds: tuple[int, int]) -> Ints:
    params = SuccessVarianceParams(n_min=bounds[0], n_max=bounds[1], power=1.0 if variant == "power 1" else 0.5)
    seen = np.full(PROMPTS, samples)
    if variant == "uniform":
        return np.full(PROMPTS, MEAN)
    if variant == "oracle":
        return allocated(np.sqrt(world.variance), seen, BUDGET, params)
    return np.array(dynamo(SuccessHistory(successes, seen, BUDGET), params, {})[0])


DYNAMO = Experiment(
    "dynamo.md (b)", "Do shares by the outcomes' deviation make the gradient less noisy?", "relative variance",
    ("uniform", "oracle", "power 0.5", "power 1"), run,
    (Expectation("narrow bounds, known rates: below 1 at both powers",
                 lambda m: max(m["power 0.5"]["narrow, known"], m["power 1"]["narrow, known"]) < 1),
     Expectation("loose bounds, known rates: power 0.5 < 1 < power 1",
                 lambda m: m["power 0.5"]["loose, known"] < 1 < m["power 1"]["loose, known"]),
     Expectation("narrow bounds, estimated: below 1.05 at both powers",
                 lambda m: max(m["power 0.5"]["narrow, estimated"], m["power 1"]["narrow, estimated"]) < 1.05),
     Expectation("loose bounds, estimated: worse than equal shares by half at both powers",
                 lambda m: min(m["power 0.5"]["loose, estimated"], m["power 1"]["loose, estimated"]) > 1.5)),
    seeds=8)
