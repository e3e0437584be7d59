"""How much of an engine callers from outside get while runs train: requests of tenants, beside those of runs.

While no run is about, nobody is slowed. While one is, steps that only callers from outside need take at most a share of
the time: the cores are left to a trainer beside the engine. In steps that runs need as well, at most that share of the
sequences is from outside.
"""


import math
import time
from collections.abc import Callable

from services.inference.requests import Request

ABOUT_S = 10.0
"""Seconds after its last sample for which a run is about: its trainer computes meanwhile."""
_MOST_LEFT_S = 0.05
"""Most time that may be left from before: nobody saves up for long."""


def from_outside(request: Request) -> bool:
    """Return whether a tenant's caller made a request, and not a run."""
    return bool(request.tenant_id)


def most_guests(runs: int, share: float) -> int:
    """Return how many sequences from outside may make tokens beside `runs` sequences of runs: at least one."""
    return max(1, int(runs * share / (1 - share)))


class TimeShare:
    """The time of steps that only callers from outside need, as a share of all time while runs are about."""

    def __init__(self, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._share, self._clock = share, clock
        self._left_s, self._seen = _MOST_LEFT_S, clock()
        self._run_at = -math.inf  # when a run last sampled

    def note_run(self) -> None:
        """A run samples now."""
        self._run_at = self._clock()

    def spend(self, seconds: float) -> None:
        """Note the time of a step that only callers from outside need. While no run is about it costs nothing."""
        self._refill()
        self._left_s -= seconds if self._about else 0.0

    @property
    def wait_s(self) -> float:
        """Seconds until such a step may be taken: 0 for now."""
        self._refill()
        return max(0.0, -self._left_s / self._share) if self._about else 0.0

    @property
    def _about(self) -> bool:
        return self._clock() - self._run_at < ABOUT_S

    def _refill(self) -> None:
        now = self._clock()
        self._left_s = min(_MOST_LEFT_S, self._left_s + self._share * (now - self._seen))
        self._seen = now
