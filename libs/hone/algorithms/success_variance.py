"""S1 of DynaMO, arXiv 2602.19208, part 1: more rollouts for prompts whose outcome varies. numpy, float64.

The variance of a sum of means, sum_i sigma_i^2 / n_i, is smallest at n_i proportional to sigma_i; the variance of the
outcomes so far stands in for sigma_i^2. Estimated from few samples, wide bounds do worse than equal shares.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Metrics, Params, State

_IMPOSSIBLE = 1e-8
"""A weight that is not above it gets nothing of what is left."""


@dataclass(frozen=True)
class SuccessHistory:
    """N prompts of a coming step: what they showed so far, and the rollouts to be given out in all."""

    successes: Floats  # [N], k; fractions where earlier epochs count less
    samples: Floats  # [N], M
    budget: int


class SuccessVarianceParams(Params):
    """Bounds of a prompt's rollouts, and how prompts are weighed."""

    n_min: int = Field(8, ge=1, description="Fewest rollouts of a prompt; half of the mean or more keeps it safe.")
    n_max: int = Field(24, ge=1, description="Most rollouts of a prompt.")
    n_init: int = Field(4, ge=0, description="Samples that a prompt is brought to before variances count.")
    priority: Literal["variance", "code"] = Field(
        "variance", description="The outcomes' variance to a power, or 4 a (1 - a) as in the released code.")
    power: float = Field(0.5, gt=0, le=2, description="0.5: by deviation, the optimum; 1: by variance, as published.")
    min_priority: float = Field(0.01, ge=0, le=1, description="Least weight of a prompt.")
    mastered: float = Field(0.85, ge=0, le=1, description="Success rate from which `code` gives the weight 0.01.")

    def needs(self) -> frozenset[str]:
        """What prompts showed so far."""
        return frozenset({"outcomes"})

    @model_validator(mode="after")
    def _ordered(self) -> "SuccessVarianceParams":
        if self.n_min > self.n_max:
            raise ValueError(f"expected n_min of at most n_max, {self.n_max}")
        return self


def dynamo(inputs: SuccessHistory, params: SuccessVarianceParams, state: State) -> tuple[list[int], State, Metrics]:
    """Return n_i, n_min <= n_i <= n_max, that add up to the budget clipped to [N n_min, N n_max].

    First n_min each, then what prompts lack to n_init samples, then the rest by weight, floored, remainders to the
    largest fractions, again and again while n_max caps some. Metric `loose_bounds` is 1 where n_min is below half of
    the mean.
    """
    weights = priorities(inputs.successes, inputs.samples, params)
    given = allocated(weights, inputs.samples, inputs.budget, params)
    return given.tolist(), state, {
        "prompts_unseen": float((inputs.samples < 2).sum()),
        "prompts_at_most": float((given == params.n_max).sum()),
        "loose_bounds": float(2 * params.n_min * len(weights) < inputs.budget),
    }


def priorities(successes: Floats, samples: Floats, params: SuccessVarianceParams) -> Floats:
    """Return max(P^power, min_priority), P = k (M - k) / (M (M - 1)), unbiased for p (1 - p); 1 where M < 2, [N].

    `code`: max(4 a (1 - a), min_priority), a = k / M, and 0.01 for a of at least `mastered`.
    """
    known = samples >= 2
    count = np.where(known, samples, 2.0)
    if params.priority == "code":
        rate = successes / count
        weight = np.where(rate >= params.mastered, 0.01, 4 * rate * (1 - rate))
    else:
        weight = np.maximum(0, successes * (count - successes) / (count * (count - 1))) ** params.power
    return np.where(known, np.maximum(weight, params.min_priority), 1.0)


def allocated(weights: Floats, samples: Floats, budget: int, params: SuccessVarianceParams) -> Ints:
    """Return the rollouts of prompts with these weights [N], of which `samples` [N] are known."""
    n = len(weights)
    total = int(np.clip(budget, n * params.n_min, n * params.n_max))
    given = params.n_min + _explored(samples, total - n * params.n_min, params)
    rest = total - int(given.sum())
    while rest:
        open_ = (given < params.n_max) & (weights > _IMPOSSIBLE)
        if not open_.any():
            return given + _in_turn(params.n_max - given, rest)
        wanted = given + _shares(np.where(open_, weights, 0.0), rest)
        given = np.minimum(wanted, params.n_max)
        rest = int((wanted - given).sum())
    return given


def _explored(samples: Floats, rest: int, params: SuccessVarianceParams) -> Ints:
    """Return what prompts get above n_min because they were seen too little, at most `rest` in all."""
    lacking = np.ceil(max(params.n_init, params.n_min) - samples).astype(np.int64)
    extra = np.maximum(0, np.clip(lacking, 0, params.n_max) - params.n_min)
    return extra if extra.sum() <= rest else _shares(extra.astype(np.float64), rest)


def _shares(weights: Floats, total: int) -> Ints:
    """Return whole shares that add up to `total`; remainders go to the largest fractions, ties to the lower place."""
    exact = total * weights / weights.sum()
    shares: Ints = np.floor(exact + 1e-9).astype(np.int64)
    fractions = np.where(weights > 0, np.round(exact - shares, 9), -1.0)
    shares[np.argsort(-fractions, kind="stable")[:total - shares.sum()]] += 1
    return shares


def _in_turn(room: Ints, rest: int) -> Ints:
    """Return `rest` handed out one by one in the prompts' order, to those with room."""
    rounds = np.arange(room.max(initial=0))
    takers = np.nonzero(rounds[:, None] < room)[1][:rest]
    counts: Ints = np.bincount(takers, minlength=len(room))
    return counts
