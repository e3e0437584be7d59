"""What a run may not go beyond: its budget, and its tenant's month budget, tokens a day and suspension."""

import time
from dataclasses import dataclass

from hone.spec.money import money
from hone.store.database import Database, Row
from services.learner.driver.lease import RunLease


@dataclass(frozen=True)
class Limit:
    """A limit that is reached. `reason` says which, `until` what a run waits for; neither tells what is used now."""

    reason: str
    until: str

    def __str__(self) -> str:
        return f"{self.until}: {self.reason}"


def reached(figures: Row) -> Limit | None:
    """Return the first limit that is reached by the figures of `runs.limits`."""
    currency = figures["currency"]
    if figures["suspended"]:
        return Limit("its tenant is suspended", "its tenant to be resumed")
    if _used_up(figures["budget"], figures["cost"]):
        return Limit(f"its budget of {money(figures['budget'], currency)} is used up", "a higher budget")
    if _used_up(figures["month_budget"], figures["month_cost"]):
        return Limit(f"its tenant's budget of {money(figures['month_budget'], currency)} for this month is used up",
                     "a higher budget or the next month of UTC")
    if _used_up(figures["max_tokens_a_day"], figures["tokens_a_day"]):
        return Limit(f"its tenant's {figures['max_tokens_a_day']} tokens for this day are used up (max_tokens_a_day)",
                     "the next day of UTC or a higher quota")
    return None


def _used_up(limit: float | None, used: float | None) -> bool:
    return limit is not None and used is not None and used >= limit


class Limits:
    """The limits of a leased run. They are looked up after each step and every `every_s` seconds, not in every turn."""

    def __init__(self, database: Database, lease: RunLease, every_s: float) -> None:
        self._database, self._lease, self._every_s = database, lease, every_s
        self._looked_at, self._committed = 0.0, -1
        self._reached: Limit | None = None

    def reached(self, committed: int) -> Limit | None:
        """Return the first limit that is reached, or None. `committed` is the last committed step."""
        now = time.monotonic()
        if committed != self._committed or now - self._looked_at >= self._every_s:
            self._looked_at, self._committed = now, committed
            figures = self._database.one("runs.limits", run_id=self._lease.run_id)
            self._reached = None if figures is None else reached(figures)
        return self._reached
