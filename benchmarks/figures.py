"""The arithmetic of the tables: medians after warm-up, ratios, rolling means, time to a target."""

import itertools
import statistics
from collections.abc import Sequence


def settled_median(values: Sequence[float], warm_up: int) -> float:
    """Return the median of what follows the first `warm_up` values. Raises ValueError when nothing follows."""
    if len(values) <= warm_up:
        raise ValueError(f"{len(values)} values, of which the first {warm_up} are warm-up: nothing is left")
    return statistics.median(values[warm_up:])


def ratio(theirs: float, ours: float) -> float:
    """Return how many times as long they took as we did: above 1, we are faster. Raises ValueError."""
    if ours <= 0 or theirs <= 0:
        raise ValueError(f"durations are positive: found {theirs} and {ours}")
    return theirs / ours


def rolling_means(values: Sequence[float], window: int) -> list[float]:
    """Return the mean of each `window` successive values; entry i ends at value i + window - 1."""
    sums = itertools.accumulate(values, initial=0.0)
    totals = list(sums)
    return [(totals[end] - totals[end - window]) / window for end in range(window, len(totals))]


def steps_to_target(rewards: Sequence[float], target: float, window: int) -> int | None:
    """Return after how many steps the mean of the last `window` rewards is first at least `target`, or None."""
    # Sums of floats miss a target that the exact mean meets by some units of the last place.
    for place, mean in enumerate(rolling_means(rewards, window)):
        if mean >= target - 1e-9:
            return place + window
    return None


def seconds_to_target(step_s: Sequence[float], rewards: Sequence[float], target: float, window: int) -> float | None:
    """Return the seconds from the start of step 1 to the end of the step that reaches the target, or None."""
    steps = steps_to_target(rewards, target, window)
    return None if steps is None else sum(step_s[:steps])


def largest_gap(left: Sequence[float], right: Sequence[float], window: int) -> float:
    """Return the largest difference between two curves of rolling means, over the steps both have."""
    pairs = zip(rolling_means(left, window), rolling_means(right, window), strict=False)
    return max((abs(ours - theirs) for ours, theirs in pairs), default=0.0)


def shares(parts: dict[str, float], whole: float) -> dict[str, float]:
    """Return each part as a fraction of the whole, and what no part accounts for as `other`. Raises ValueError."""
    if whole <= 0:
        raise ValueError(f"the whole is positive: found {whole}")
    return {**{name: part / whole for name, part in parts.items()}, "other": 1 - sum(parts.values()) / whole}
