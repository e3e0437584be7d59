"""Intervals of proportions."""

import math

_NORMAL = 1.959963984540054  # 97.5 % of a normal distribution lies below


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share of `count` trials (Wilson 1927). Raises ValueError without trials."""
    if count < 1:
        raise ValueError(f"count: found {count}, expected at least 1")
    squared = _NORMAL**2 / count
    middle = (share + squared / 2) / (1 + squared)
    half = _NORMAL / (1 + squared) * math.sqrt(share * (1 - share) / count + squared / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)
