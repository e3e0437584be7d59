"""What reward processing reads, and which rows it rejects: those whose raw reward is no finite number."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class RewardInputs:
    """Samples of a step in order: task reward (None masks the sample), completion tokens, whether it was cut off."""

    rewards: list[float | None]
    lengths: list[int]
    truncated: list[bool]


Rewards = list[float | None]


def reject(rewards: Rewards) -> tuple[Rewards, int]:
    """Return the rewards with None where one is NaN or infinite, and how many those are."""
    finite = [reward if reward is not None and math.isfinite(reward) else None for reward in rewards]
    return finite, sum(before is not None and after is None for before, after in zip(rewards, finite, strict=True))
