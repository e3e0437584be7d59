"""V0.5's rollouts on demand, arXiv 2603.10848: a first wave, and more where rewards contradict a predicted chance.

The form of the sequential risk is a reconstruction; it has the published constant and limits exactly. The predicted
chance p stands on the scale of rewards from -1 to 1 as V = 2 p - 1.
"""

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from hone.algorithms.allocation.inputs import AllocationInputs, AllocationParams
from hone.algorithms.allocation.shares import equal_shares
from hone.algorithms.method import Method, Metrics, State

Mode = Literal["one", "jump"]
ACCEPTED_OF, ACCEPTED_LEAST = 200, 0.5
"""Predictions are unreliable if fewer than this share of so many prompts accepted theirs."""


class V05Params(AllocationParams):
    """Sizes of the waves, and when another one is sampled."""

    k_init: int = Field(4, ge=3, description="Rollouts of the first wave. With 1 or 2 the mean has too few levels for "
                                             "the test, and training failed.")
    k_max: int = Field(16, ge=3, description="Most rollouts of a prompt.")
    c: float | None = Field(None, ge=0, description="Cost of a rollout, as a squared error of rewards from -1 to 1; "
                                                    "null: 1 / k_max^2.")
    mode: Mode = Field("one", description="one: one more rollout after another; jump: at once as many as the estimate "
                                          "asks for, so that most prompts have two waves.")

    @model_validator(mode="after")
    def _ordered(self) -> "V05Params":
        if self.k_init > self.k_max:
            raise ValueError(f"expected k_init of at most k_max, {self.k_max}")
        return self

    @property
    def cost(self) -> float:
        """The cost of a rollout."""
        return 1 / self.k_max**2 if self.c is None else self.c

    def needs(self) -> frozenset[str]:
        """Predicted chances."""
        return frozenset({"predicted"})


def v0_5(inputs: AllocationInputs, params: V05Params, state: State) -> tuple[list[int], State, Metrics]:
    """First waves: n_i = k_init for a prompt with a predicted chance; an equal share of the budget for any other.

    Each prompt with a prediction is sampled on while `next_wave` says so.
    """
    fallback = equal_shares(len(inputs.task_hashes), inputs.budget).tolist()
    given = [params.k_init if chance is not None else share
             for chance, share in zip(inputs.chances, fallback, strict=True)]
    return given, state, {"predicted": sum(chance is not None for chance in inputs.chances) / max(1, len(given))}


def bias(mean: float, predicted: float, noise: float) -> float:
    """Return D2 = max(0, (m - V)^2 - noise), the estimated square of the prediction's error."""
    return max(0.0, (mean - predicted) ** 2 - noise)


def gain(k: int, d2: float) -> float:
    """Return how much one more rollout than k lowers the expected squared error: D2^2 / ((1 + k D2) (1 + (k+1) D2))."""
    return d2 * d2 / ((1 + k * d2) * (1 + (k + 1) * d2))


def next_wave(rewards: Sequence[float], predicted: float, c: float, k_max: int, mode: Mode = "one") -> int:
    """Return how many rollouts to sample next, 0 to stop. Rewards and prediction are from -1 to 1; at least one reward.

    One more while gain(k) > c and k < k_max. `jump`: as many at once as a constant D2 would ask for.
    """
    k = len(rewards)
    d2 = bias(sum(rewards) / k, min(max(predicted, -1.0), 1.0), 1 / k)
    if k >= k_max or gain(k, d2) <= c:
        return 0
    if mode == "one":
        return 1
    wanted = k_max if c == 0 else math.ceil(1 / math.sqrt(c) - 1 / d2 - 1e-9)
    return min(max(wanted - k, 1), k_max - k)


def accepted(samples: int, mean: float, predicted: float) -> bool:
    """Return whether so many rewards with this mean, from -1 to 1, accept a prediction: |m - V| <= 1 / sqrt(k)."""
    return bias(mean, predicted, 1 / samples) == 0


METHOD: Method[AllocationInputs, list[int]] = Method(v0_5, V05Params)
