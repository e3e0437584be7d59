"""Allocations (S1): the number of rollouts of each prompt. numpy, float64.

DynaMO, arXiv 2602.19208, part 1, gives more rollouts to prompts whose outcomes vary. The variance of a sum of means,
sum_i sigma_i^2 / n_i, is smallest for n_i proportional to sigma_i. The variance of the outcomes so far replaces
sigma_i^2. With few samples, wide bounds are worse than equal shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State

_IMPOSSIBLE = 1e-8
"""A prompt with at most this weight gets none of the remaining rollouts."""


@dataclass(frozen=True)
class AllocationInputs:
    """Allocation (S1): the prompts of a coming step, and the rollouts to distribute."""

    task_hashes: list[str]
    budget: int  # rollouts of the whole step
    outcomes: Mapping[str, tuple[float, int]] = field(default_factory=dict)  # by hash: sum and number of rewards so far


def uniform(inputs: AllocationInputs, params: Params, state: State) -> tuple[list[int], State, Metrics]:
    """n_i = floor(budget / prompts), and one more for each of the first (budget mod prompts) prompts."""
    share, rest = divmod(inputs.budget, len(inputs.task_hashes))
    return [share + (place < rest) for place in range(len(inputs.task_hashes))], state, {}


@dataclass(frozen=True)
class SuccessHistory:
    """N prompts of a coming step, their outcomes so far, and the rollouts to distribute."""

    successes: Floats  # [N], k; fractional where earlier epochs have less weight
    samples: Floats  # [N], M
    budget: int


class SuccessVarianceParams(Params):
    """Bounds of a prompt's rollouts, and the weights of prompts."""

    n_min: int = Field(8, ge=1, description="Fewest rollouts of a prompt; at least half of the mean is safe.")
    n_max: int = Field(24, ge=1, description="Most rollouts of a prompt.")
    n_init: int = Field(4, ge=0, description="Samples that each prompt gets before variances decide.")
    priority: Literal["variance", "code"] = Field(
        "variance", description="Weight of a prompt: its variance to a power, or (code) 4 a (1 - a), a the success "
        "rate.")
    power: float = Field(
        0.5, gt=0, le=2, description="Power of the variance; 0.5: the deviation, optimal; 1: the variance, as "
        "published.")
    min_priority: float = Field(0.01, ge=0, le=1, description="Smallest weight of a prompt.")
    mastered: float = Field(
        0.85, ge=0, le=1, description="With priority code: success rate from which the weight is 0.01.")

    def needs(self) -> frozenset[str]:
        """The prompts' earlier outcomes."""
        return frozenset({"outcomes"})

    @model_validator(mode="after")
    def _ordered(self) -> "SuccessVarianceParams":
        if self.n_min > self.n_max:
            raise ValueError(f"expected n_min of at most n_max, {self.n_max}")
        return self


def dynamo(inputs: SuccessHistory, params: SuccessVarianceParams, state: State) -> tuple[list[int], State, Metrics]:
    """Return n_i with n_min <= n_i <= n_max, whose sum is the budget clipped to [N n_min, N n_max].

    Each prompt gets n_min, then the samples that it lacks to n_init. The rest is distributed by weight, rounded down,
    with remainders to the largest fractions, and repeated while n_max limits some prompt. The metric `loose_bounds` is
    1 where n_min is below half of the mean.
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
    """Return the rollouts of prompts with these weights [N] and numbers of known samples [N]."""
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
    """Return the rollouts above n_min of prompts with too few samples; their sum is at most `rest`."""
    lacking = np.ceil(max(params.n_init, params.n_min) - samples).astype(np.int64)
    extra = np.maximum(0, np.clip(lacking, 0, params.n_max) - params.n_min)
    return extra if extra.sum() <= rest else _shares(extra.astype(np.float64), rest)


def _shares(weights: Floats, total: int) -> Ints:
    """Return integer shares with the sum `total`. Remainders go to the largest fractions, ties to the lower index."""
    exact = total * weights / weights.sum()
    shares: Ints = np.floor(exact + 1e-9).astype(np.int64)
    fractions = np.where(weights > 0, np.round(exact - shares, 9), -1.0)
    shares[np.argsort(-fractions, kind="stable")[:total - shares.sum()]] += 1
    return shares


def _in_turn(room: Ints, rest: int) -> Ints:
    """Return `rest` rollouts distributed one by one, in the prompts' order, to prompts below their limit."""
    rounds = np.arange(room.max(initial=0))
    takers = np.nonzero(rounds[:, None] < room)[1][:rest]
    counts: Ints = np.bincount(takers, minlength=len(room))
    return counts


def by_variance(
    inputs: AllocationInputs, params: SuccessVarianceParams, state: State
) -> tuple[list[int], State, Metrics]:
    """More rollouts for prompts whose outcomes vary, n_min <= n_i <= n_max: see `dynamo`."""
    known = np.array([inputs.outcomes.get(task, (0.0, 0)) for task in inputs.task_hashes], np.float64)
    return dynamo(SuccessHistory(known[:, 0], known[:, 1], inputs.budget), params, state)


ALLOCATIONS: Mapping[str, Method[AllocationInputs, list[int]]] = {
    "uniform": Method(uniform),
    "dynamo": Method(by_variance, SuccessVarianceParams),
}
