"""S3: what is the reward? Rows whose raw reward is no finite number are rejected here, and counted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field, model_validator

from hone.algorithms.method import Method, Metrics, Params, State


@dataclass(frozen=True)
class RewardInputs:
    """Samples of a step in order: task reward (None masks the sample), completion tokens, whether it was cut off."""

    rewards: list[float | None]
    lengths: list[int]
    truncated: list[bool]


Rewards = list[float | None]


class Overlong(Params):
    """Source: DAPO, arXiv 2503.14476."""

    max_length: int = Field(20480, ge=1, description="Tokens beyond which the whole penalty applies (Lmax).")
    buffer: int = Field(4096, ge=1, description="Tokens before max_length over which the penalty grows (Lc).")
    weight: float = Field(1.0, ge=0, description="Factor of the penalty.")

    @model_validator(mode="after")
    def _fits(self) -> "Overlong":
        if self.buffer > self.max_length:
            raise ValueError(f"expected buffer of at most max_length ({self.max_length})")
        return self


def none(inputs: RewardInputs, params: Params, state: State) -> tuple[Rewards, State, Metrics]:
    """The task reward as it is."""
    rewards, rejected = reject(inputs.rewards)
    return rewards, state, {"rejected_rewards": float(rejected)}


def overlong(inputs: RewardInputs, params: Overlong, state: State) -> tuple[Rewards, State, Metrics]:
    """R + weight * penalty(l): 0 up to Lmax - Lc, then ((Lmax - Lc) - l) / Lc, and -1 beyond Lmax or if cut off."""
    rewards, rejected = reject(inputs.rewards)
    penalties = [_penalty(*sample, params) for sample in zip(inputs.lengths, inputs.truncated, strict=True)]
    shaped = [None if reward is None else reward + params.weight * penalty
              for reward, penalty in zip(rewards, penalties, strict=True)]
    penalised = sum(penalty < 0 for penalty in penalties)
    return shaped, state, {"rejected_rewards": float(rejected), "overlong_samples": float(penalised)}


def reject(rewards: Rewards) -> tuple[Rewards, int]:
    """Return the rewards with None where one is NaN or infinite, and how many those are."""
    finite = [reward if reward is not None and math.isfinite(reward) else None for reward in rewards]
    return finite, sum(before is not None and after is None for before, after in zip(rewards, finite, strict=True))


def _penalty(length: int, truncated: bool, params: Overlong) -> float:
    if truncated or length > params.max_length:
        return -1.0
    return min(0.0, (params.max_length - params.buffer - length) / params.buffer)


REWARDS: Mapping[str, Method[RewardInputs, Rewards]] = {"none": Method(none), "overlong": Method(overlong, Overlong)}
