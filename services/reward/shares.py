"""The pool's time is shared between runs: one whose answers take long to grade cannot keep others from being graded."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection

WINDOW_S = 60.0
"""Seconds over which the grading time of a run is summed up."""


class Shares:
    """Chooses whose sample is graded next: the run that used least of the last minute.

    While samples of several runs are graded, a run that has used its budget waits until its use of the last minute is
    below it. A run that is alone has the whole pool.
    """

    def __init__(self, budget_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`budget_s`: seconds of all processes together that one of several runs may use within WINDOW_S."""
        self.budget_s, self._clock = budget_s, clock
        self._ended: dict[str, deque[tuple[float, float]]] = defaultdict(deque)  # moment and seconds of each grade
        self._running: dict[str, list[float]] = defaultdict(list)  # starts of the grades in progress

    def begin(self, run: str) -> float:
        """Note that a grade of a run starts, and return the moment."""
        self._running[run].append(self._clock())
        return self._running[run][-1]

    def end(self, run: str, began: float) -> float:
        """Note that the grade that started at `began` has ended, and return its seconds."""
        now = self._clock()
        self._running[run].remove(began)
        self._ended[run].append((now, now - began))
        return now - began

    def used(self, run: str) -> float:
        """Return the seconds that a run used within the last minute, with its grades in progress."""
        now = self._clock()
        ended = self._ended[run]
        while ended and ended[0][0] <= now - WINDOW_S:
            ended.popleft()
        return sum(seconds for _, seconds in ended) + sum(now - began for began in self._running[run])

    def next(self, waiting: Collection[str]) -> str | None:
        """Return the run whose sample is next among those that wait, in order; None if all have used their budget."""
        used = {run: self.used(run) for run in waiting}
        fair = [run for run in used if used[run] < self.budget_s] if self.shared(waiting) else list(used)
        return min(fair, key=lambda run: used[run], default=None)

    def shared(self, waiting: Collection[str]) -> bool:
        """Return whether several runs wait, or were graded within the last minute."""
        for run in [run for run in self._ended if not self._running[run] and not self.used(run)]:
            del self._ended[run], self._running[run]
        return len({*waiting, *self._ended, *(run for run, began in self._running.items() if began)}) > 1
