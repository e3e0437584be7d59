"""The limits of a run that a driver moves."""

import threading
import time
from dataclasses import dataclass, field

from hone.limits import Limit, reached
from hone.store.database import Database, Row
from services.learner.driver.lease import RunLease

_SHARE = 0.1
"""Share of the time that the sums over one tenant may take: those over a large one are looked up less often."""


@dataclass
class _Figures:
    """The figures of one tenant, when they were read, and how long that took. The lock is held while they are read."""

    row: Row | None = None
    read_at: float = float("-inf")
    took_s: float = 0.0
    reading: threading.Lock = field(default_factory=threading.Lock)


class TenantFigures:
    """The figures of `tenants.limits`, read once for all runs of a tenant that a driver moves. Thread-safe.

    No run waits for the sums of another tenant, and only a tenant's first one waits for its own.
    """

    def __init__(self, database: Database, every_s: float) -> None:
        self._database, self._every_s = database, every_s
        self._known, self._lock = dict[str, _Figures](), threading.Lock()

    def of(self, tenant_id: str, changed: bool) -> Row | None:
        """Return a tenant's figures, at most `every_s` old. `changed`: something was used, so older ones are not."""
        with self._lock:
            known = self._known.setdefault(tenant_id, _Figures())
        if self._due(known, changed) and known.reading.acquire(blocking=known.row is None):
            try:
                if self._due(known, changed):
                    self._read(known, tenant_id)
            finally:
                known.reading.release()
        return known.row

    def _due(self, known: _Figures, changed: bool) -> bool:
        pause_s = max(0.0 if changed else self._every_s, known.took_s * (1 / _SHARE - 1))
        return time.monotonic() - known.read_at >= pause_s

    def _read(self, known: _Figures, tenant_id: str) -> None:
        begun = time.monotonic()
        known.row = self._database.one("tenants.limits", tenant=tenant_id, storage=True)
        known.read_at = time.monotonic()
        known.took_s = known.read_at - begun


class Limits:
    """The limits of a leased run. They are looked up after each step and every `every_s` seconds, not in every turn."""

    def __init__(self, database: Database, lease: RunLease, every_s: float, tenants: TenantFigures) -> None:
        self._database, self._lease, self._every_s, self._tenants = database, lease, every_s, tenants
        self._looked_at, self._committed = 0.0, -1
        self._reached: Limit | None = None
        self.left: float | None = None
        """Rest of the budget, as a multiple of the run's cost so far; None without a budget or costs."""

    def reached(self, committed: int) -> Limit | None:
        """Return the first limit that is reached, or None. `committed` is the last committed step."""
        now, changed = time.monotonic(), committed != self._committed
        if changed or now - self._looked_at >= self._every_s:
            self._looked_at, self._committed = now, committed
            figures = self._database.one("runs.limits", run_id=self._lease.run_id)
            of_tenant = self._tenants.of(self._lease.tenant_id, changed)
            self._reached = reached({**figures, **of_tenant}) if figures and of_tenant else None
            self.left = figures["budget"] / figures["cost"] - 1 if figures and figures["cost"] else None
        return self._reached
