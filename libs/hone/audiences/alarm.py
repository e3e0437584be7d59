"""The alarm that a policy exploits the reasoner: the running mean of |R - F| is too high. A reconstruction."""

from collections import deque
from collections.abc import Sequence

import numpy as np

LIMIT = 0.15
WINDOW = 64
"""Groups of the running mean."""


class GapAlarm:
    """Keeps the mean gap between the reasoned and the fitted rates of the last groups."""

    def __init__(self, limit: float = LIMIT, window: int = WINDOW) -> None:
        self._limit, self._gaps = limit, deque[float](maxlen=window)

    def add(self, reasoned: Sequence[float], fitted: Sequence[float]) -> None:
        """Take the rates [K] of the next group."""
        self._gaps.append(float(np.mean(np.abs(np.array(reasoned) - np.array(fitted)))))

    @property
    def mean(self) -> float:
        """The running mean; 0 before the first group."""
        return float(np.mean(self._gaps)) if self._gaps else 0.0

    @property
    def rings(self) -> bool:
        """Whether the mean is above the limit."""
        return self.mean > self._limit
