"""Limits of a tenant and its runs. A driver pauses a run for them, and the door refuses calls.

The storage quota pauses runs only: calls store next to nothing.
"""

from dataclasses import dataclass

from hone.spec.money import money
from hone.store.database import Row


@dataclass(frozen=True)
class Limit:
    """A limit that is reached. `reason` says which, `until` what a run waits for; neither tells what is used now."""

    reason: str
    until: str

    def __str__(self) -> str:
        return f"{self.until}: {self.reason}"


def reached(figures: Row) -> Limit | None:
    """Return the first limit that is reached by the figures of `tenants.limits`, and of a run's `runs.limits`."""
    currency = figures["currency"]
    if figures["suspended"]:
        return Limit("its tenant is suspended", "its tenant to be resumed")
    if _used_up(figures.get("budget"), figures.get("cost")):
        return Limit(f"its budget of {money(figures['budget'], currency)} is used up", "a higher budget")
    if _used_up(figures["month_budget"], figures["month_cost"]):
        return Limit(f"its tenant's budget of {money(figures['month_budget'], currency)} for this month is used up",
                     "a higher budget or the next month of UTC")
    if _used_up(figures["max_tokens_a_day"], figures["tokens_a_day"]):
        return Limit(f"its tenant's {figures['max_tokens_a_day']} tokens for this day are used up (max_tokens_a_day)",
                     "the next day of UTC or a higher quota")
    if _used_up(figures["max_stored_bytes"], figures["stored_bytes"]):
        return Limit(f"its tenant's {figures['max_stored_bytes']} bytes of storage are used up (max_stored_bytes)",
                     "room in its tenant's storage or a higher quota")
    return None


def _used_up(limit: float | None, used: float | None) -> bool:
    return limit is not None and used is not None and used >= limit
