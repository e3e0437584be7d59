"""DynaMO, part 1, arXiv 2602.19208: more rollouts for prompts whose outcomes vary. numpy, float64.

The variance of a sum of means, sum_i sigma_i^2 / n_i, is smallest for n_i proportional to sigma_i. The variance of the
outcomes so far replaces sigma_i^2; outcomes are scaled to [0, 1] by the grader's range. With few samples, wide bounds
are worse than equal shares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hone.algorithms.allocation.inputs import AllocationInputs, AllocationParams, GroupOutcomes
from hone.algorithms.allocation.shares import in_turn, weighted_shares
from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, State

_IMPOSSIBLE = 1e-8
"""A prompt with at most this weight gets none of the remaining rollouts."""


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


class SuccessVarianceParams(AllocationParams):
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

    def expected(self, inputs: AllocationInputs) -> Sequence[float | None]:
        """Return the mean of each prompt's earlier rewards, scaled to [0, 1]; None: it has none."""
        samples, successes, _, _ = _summed(
            [inputs.groups(task) for task in inputs.task_hashes], self.memory, inputs.bounds)
        return [rewards / many if many else None
                for rewards, many in zip(successes.tolist(), samples.tolist(), strict=True)]

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
            return given + in_turn(high - given, rest)
        wanted = given + weighted_shares(np.where(open_, weights, 0.0), rest)
        given = np.minimum(wanted, high)
        rest = int((wanted - given).sum())
    return given


def _explored(samples: Floats, rest: int, enough: int, bounds: tuple[int, int]) -> Ints:
    """Return the rollouts above the fewest of prompts with less than `enough` samples; their sum is at most `rest`."""
    low, high = bounds
    lacking = np.ceil(enough - samples).astype(np.int64)
    extra = np.maximum(0, np.clip(lacking, 0, high) - low)
    return extra if extra.sum() <= rest else weighted_shares(extra.astype(np.float64), rest)


def by_variance(
    inputs: AllocationInputs, params: SuccessVarianceParams, state: State
) -> tuple[list[int], State, Metrics]:
    """More rollouts for prompts whose rewards vary, n_min <= n_i <= n_max: see `dynamo`.

    The weight of a group is `memory` to the power of 1 + the number of the prompt's later groups.
    """
    samples, successes, variance, above = _summed(
        [inputs.groups(task) for task in inputs.task_hashes], params.memory, inputs.bounds)
    return dynamo(SuccessHistory(successes, samples, inputs.budget, variance, above), params, state)


def _summed(
    asked: Sequence[Sequence[GroupOutcomes]], memory: float, bounds: tuple[float, float]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return M, k, the unbiased variance, 0 where M is at most 1, and the samples above their step's mean, [N] each."""
    (low, high), prompts = bounds, len(asked)
    owner = np.repeat(np.arange(prompts), [len(groups) for groups in asked])
    known = np.array([(one.samples, one.mean, one.variance, one.above, len(groups) - place)
                      for groups in asked for place, one in enumerate(groups)], np.float64).reshape(-1, 5)
    weight = memory ** known[:, 4]
    counts = weight * known[:, 0]
    means, within = (known[:, 1] - low) / (high - low), known[:, 2] / (high - low) ** 2

    def summed(values: Floats) -> Floats:
        return np.bincount(owner, values, prompts).astype(np.float64, copy=False)

    total, successes = summed(counts), summed(counts * means)
    mean = successes / np.where(total > 0, total, 1.0)
    squares = summed(counts * (within + (means - mean[owner]) ** 2))
    variance = np.where(total > 1, squares / np.where(total > 1, total - 1, 1.0), 0.0)
    return total, successes, variance, summed(weight * known[:, 3])


METHOD: Method[AllocationInputs, list[int]] = Method(by_variance, SuccessVarianceParams)
