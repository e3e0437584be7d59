"""Allocations (S1): the number of rollouts of each prompt. numpy, float64.

DynaMO, arXiv 2602.19208, part 1, gives more rollouts to prompts whose outcomes vary. The variance of a sum of means,
sum_i sigma_i^2 / n_i, is smallest for n_i proportional to sigma_i. The variance of the outcomes so far replaces
sigma_i^2; outcomes are scaled to [0, 1] by the grader's range. With few samples, wide bounds are worse than equal
shares.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State

_IMPOSSIBLE = 1e-8
"""A prompt with at most this weight gets none of the remaining rollouts."""


@dataclass(frozen=True)
class GroupOutcomes:
    """The rewards of one earlier group of a prompt, as its grader gave them."""

    samples: int
    mean: float
    variance: float = 0.0  # of the population, so not unbiased
    above: int = 0  # samples whose reward exceeded the mean of their step


@dataclass(frozen=True)
class AllocationInputs:
    """Allocation (S1): the prompts of a coming step, and the rollouts to distribute."""

    task_hashes: list[str]
    budget: int  # rollouts of the whole step
    outcomes: Mapping[str, Sequence[GroupOutcomes]] = field(default_factory=dict)  # by hash, oldest group first
    bounds: tuple[float, float] = (0.0, 1.0)  # smallest and largest reward


def uniform(inputs: AllocationInputs, params: Params, state: State) -> tuple[list[int], State, Metrics]:
    """n_i = floor(budget / prompts), and one more for each of the first (budget mod prompts) prompts."""
    share, rest = divmod(inputs.budget, len(inputs.task_hashes))
    return [share + (place < rest) for place in range(len(inputs.task_hashes))], state, {}


@dataclass(frozen=True)
class SuccessHistory:
    """N prompts of a coming step, their outcomes so far, and the rollouts to distribute.

    Rewards are scaled to [0, 1]. Numbers are fractional where earlier groups have less weight.
    """

    successes: Floats  # [N], k, the sum of the rewards
    samples: Floats  # [N], M
    budget: int
    variance: Floats | None = None  # [N], unbiased; None: rewards are 0 or 1, so that k and M tell it
    above: Floats | None = None  # [N], samples whose reward exceeded the mean of their step; None: the successes


class SuccessVarianceParams(Params):
    """Bounds of a prompt's rollouts, and the weights of prompts."""

    n_min: int | None = Field(
        None, ge=1, description="Fewest rollouts of a prompt; null: half of batch.samples, at least 2. With fewer than "
        "half, estimated variances are worse than equal shares.")
    n_max: int | None = Field(
        None, ge=1, description="Most rollouts of a prompt; null: one and a half times batch.samples.")
    n_init: int = Field(4, ge=0, description="Samples that each prompt gets before variances decide.")
    priority: Literal["variance", "code"] = Field(
        "variance", description="Weight of a prompt: the variance of its rewards to a power, or (code) 4 a (1 - a), a "
        "the share of its samples above the mean of their step.")
    power: float = Field(
        0.5, gt=0, le=2, description="Power of the variance; 0.5: the deviation, optimal; 1: the variance, as "
        "published.")
    min_priority: float = Field(0.01, ge=0, le=1, description="Smallest weight of a prompt.")
    mastered: float = Field(
        0.85, ge=0, le=1, description="With priority code: share of samples from which the weight is 0.01.")
    memory: float = Field(
        0.9, gt=0, le=1, description="Factor of the weight of a prompt's earlier samples whenever it is asked again; "
        "1: all count alike.")

    def needs(self) -> frozenset[str]:
        """The prompts' earlier outcomes."""
        return frozenset({"outcomes"})

    @model_validator(mode="after")
    def _ordered(self) -> "SuccessVarianceParams":
        if self.n_min is not None and self.n_max is not None and self.n_min > self.n_max:
            raise ValueError(f"expected n_min of at most n_max, {self.n_max}")
        return self

    def bounds(self, mean: float) -> tuple[int, int]:
        """Return the fewest and the most rollouts of a prompt, where `mean` is the mean over prompts."""
        low = min(max(2, math.ceil(mean / 2)), math.ceil(mean)) if self.n_min is None else self.n_min
        high = math.floor(1.5 * mean) if self.n_max is None else self.n_max
        return (low, max(low, high)) if self.n_max is None else (min(low, high), high)


def dynamo(inputs: SuccessHistory, params: SuccessVarianceParams, state: State) -> tuple[list[int], State, Metrics]:
    """Return n_i with n_min <= n_i <= n_max, whose sum is the budget clipped to [N n_min, N n_max].

    Each prompt gets n_min, then the samples that it lacks to n_init. The rest is distributed by weight, rounded down,
    with remainders to the largest fractions, and repeated while n_max limits some prompt. The metric `loose_bounds` is
    1 where n_min is below half of the mean.
    """
    weights = priorities(inputs.successes, inputs.samples, params, inputs.variance, inputs.above)
    given = allocated(weights, inputs.samples, inputs.budget, params)
    low, high = params.bounds(inputs.budget / len(weights))
    return given.tolist(), state, {
        "prompts_unseen": float((inputs.samples < 2).sum()),
        "prompts_at_most": float((given == high).sum()),
        "loose_bounds": float(2 * low * len(weights) < inputs.budget),
    }


def priorities(
    successes: Floats, samples: Floats, params: SuccessVarianceParams, variance: Floats | None = None,
    above: Floats | None = None,
) -> Floats:
    """Return max(P^power, min_priority), P the unbiased variance of the rewards; 1 where M < 2, [N].

    Of rewards that are 0 or 1 it is P = k (M - k) / (M (M - 1)), unbiased for p (1 - p).
    `code`: max(4 a (1 - a), min_priority), a the share of samples above the mean of their step, or k / M; and 0.01 for
    a of at least `mastered`.
    """
    known = samples >= 2
    count = np.where(known, samples, 2.0)
    if params.priority == "code":
        rate = (successes if above is None else above) / count
        weight = np.where(rate >= params.mastered, 0.01, 4 * rate * (1 - rate))
    else:
        spread = successes * (count - successes) / (count * (count - 1)) if variance is None else variance
        weight = np.maximum(0, spread) ** params.power
    return np.where(known, np.maximum(weight, params.min_priority), 1.0)


def allocated(weights: Floats, samples: Floats, budget: int, params: SuccessVarianceParams) -> Ints:
    """Return the rollouts of prompts with these weights [N] and numbers of known samples [N]."""
    n = len(weights)
    low, high = params.bounds(budget / n)
    total = int(np.clip(budget, n * low, n * high))
    given = low + _explored(samples, total - n * low, max(params.n_init, low), (low, high))
    rest = total - int(given.sum())
    while rest:
        open_ = (given < high) & (weights > _IMPOSSIBLE)
        if not open_.any():
            return given + _in_turn(high - given, rest)
        wanted = given + _shares(np.where(open_, weights, 0.0), rest)
        given = np.minimum(wanted, high)
        rest = int((wanted - given).sum())
    return given


def _explored(samples: Floats, rest: int, enough: int, bounds: tuple[int, int]) -> Ints:
    """Return the rollouts above the fewest of prompts with less than `enough` samples; their sum is at most `rest`."""
    low, high = bounds
    lacking = np.ceil(enough - samples).astype(np.int64)
    extra = np.maximum(0, np.clip(lacking, 0, high) - low)
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
    rounds, most = 0, min(rest, int(room.max(initial=0)))  # whole rounds: the most for which `rest` is enough
    while rounds < most:
        middle = (rounds + most + 1) // 2
        rounds, most = (middle, most) if np.minimum(room, middle).sum() <= rest else (rounds, middle - 1)
    counts: Ints = np.minimum(room, rounds)
    counts[np.flatnonzero(room > rounds)[:rest - int(counts.sum())]] += 1
    return counts


def by_variance(
    inputs: AllocationInputs, params: SuccessVarianceParams, state: State
) -> tuple[list[int], State, Metrics]:
    """More rollouts for prompts whose rewards vary, n_min <= n_i <= n_max: see `dynamo`.

    The weight of a group is `memory` to the power of 1 + the number of the prompt's later groups.
    """
    asked = [inputs.outcomes.get(task, ()) for task in inputs.task_hashes]
    samples, successes, variance, above = np.array(
        [_summed(groups, params.memory, inputs.bounds) for groups in asked], np.float64).T
    return dynamo(SuccessHistory(successes, samples, inputs.budget, variance, above), params, state)


def _summed(
    groups: Sequence[GroupOutcomes], memory: float, bounds: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Return M, k, the unbiased variance, 0 where M is at most 1, and the samples above their step's mean."""
    low, high = bounds
    if not groups:
        return 0.0, 0.0, 0.0, 0.0
    weight = memory ** np.arange(len(groups), 0, -1.0)
    counts = weight * [group.samples for group in groups]
    means = (np.array([group.mean for group in groups]) - low) / (high - low)
    within = np.array([group.variance for group in groups]) / (high - low) ** 2
    total = float(counts.sum())
    squares = float(counts @ (within + (means - counts @ means / total) ** 2))
    return (total, float(counts @ means), squares / (total - 1) if total > 1 else 0.0,
            float(weight @ [group.above for group in groups]))


ALLOCATIONS: Mapping[str, Method[AllocationInputs, list[int]]] = {
    "uniform": Method(uniform),
    "dynamo": Method(by_variance, SuccessVarianceParams),
}
