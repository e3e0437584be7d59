"""A pool's time is shared: one whose work takes long cannot keep others from having theirs done.

Tenants share it, however many runs each of them has, and the runs of a tenant share what that gets.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection
from typing import NamedTuple

WINDOW_S = 60.0
"""Seconds over which grading time is summed up."""


class Owner(NamedTuple):
    """Whose sample is graded."""

    tenant: str
    run: str


class Shares:
    """Says whose turn is next among names, of tenants or of runs: that of the one that used least of the last minute.

    While samples of several are graded, one that has used its budget waits until its use of the last minute is below
    it. One that is alone has the whole pool.
    """

    def __init__(self, budget_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`budget_s`: seconds of all processes together that one of several may use within WINDOW_S."""
        self.budget_s, self._clock = budget_s, clock
        self._ended: dict[str, deque[tuple[float, float]]] = defaultdict(deque)  # moment and seconds of each grade
        self._running: dict[str, list[float]] = defaultdict(list)  # starts of the grades in progress

    def begin(self, name: str) -> float:
        """Note that a grade starts, and return the moment."""
        self._running[name].append(self._clock())
        return self._running[name][-1]

    def end(self, name: str, began: float) -> float:
        """Note that the grade that started at `began` has ended, and return its seconds."""
        now = self._clock()
        self._running[name].remove(began)
        self._ended[name].append((now, now - began))
        return now - began

    def used(self, name: str) -> float:
        """Return the seconds that were used within the last minute, with grades in progress."""
        now = self._clock()
        ended = self._ended[name]
        while ended and ended[0][0] <= now - WINDOW_S:
            ended.popleft()
        return sum(seconds for _, seconds in ended) + sum(now - began for began in self._running[name])

    def order(self, waiting: Collection[str]) -> list[str]:
        """Return those that wait and have not used their budget, the next one first."""
        used = {name: self.used(name) for name in waiting}
        fair = [name for name in used if used[name] < self.budget_s] if self.shared(waiting) else list(used)
        return sorted(fair, key=lambda name: used[name])

    def spent(self, name: str) -> bool:
        """Return whether one has used its budget while others have work, too."""
        return self.used(name) >= self.budget_s and self.shared([name])

    def shared(self, waiting: Collection[str]) -> bool:
        """Return whether several wait, or were graded within the last minute."""
        for name in [name for name in self._ended if not self._running[name] and not self.used(name)]:
            del self._ended[name], self._running[name]
        return len({*waiting, *self._ended, *(name for name, began in self._running.items() if began)}) > 1


class FairShares:
    """The shares of tenants, and those of runs within their tenant's."""

    def __init__(self, budget_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`budget_s` as of Shares."""
        self._tenants, self._runs = Shares(budget_s, clock), Shares(budget_s, clock)

    def begin(self, owner: Owner) -> tuple[float, float]:
        """Note that a grade of an owner starts, and return the moments."""
        return self._tenants.begin(owner.tenant), self._runs.begin(owner.run)

    def end(self, owner: Owner, began: tuple[float, float]) -> float:
        """Note that the grade that started at `began` has ended, and return its seconds."""
        self._tenants.end(owner.tenant, began[0])
        return self._runs.end(owner.run, began[1])

    def next(self, waiting: Collection[Owner]) -> Owner | None:
        """Return the owner whose sample is next among those that wait; None if all have used their budget."""
        for tenant in self._tenants.order({owner.tenant for owner in waiting}):
            own = {owner.run: owner for owner in waiting if owner.tenant == tenant}
            for run in self._runs.order(own):
                return own[run]
        return None

    def report(self, owner: Owner, work: str = "samples") -> str:
        """Return a sentence about what an owner's work used, for people; `work` is a plural."""
        of_tenant = self._tenants.spent(owner.tenant)
        used = self._tenants.used(owner.tenant) if of_tenant else self._runs.used(owner.run)
        spent = of_tenant or self._runs.spent(owner.run)
        share = f", and {self._runs.budget_s:.0f} s are its share while others have work" if spent else ""
        whose = "tenant" if of_tenant else "run"
        return f"the {whose}'s {work} used {used:.0f} s of the last {WINDOW_S:.0f} s{share}"
