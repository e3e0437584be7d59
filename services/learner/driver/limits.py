"""The limits of a run that a driver moves."""

import threading
import time

from hone.limits import Limit, reached
from hone.store.database import Database, Row
from services.learner.driver.lease import RunLease

_SHARE = 0.1
"""Share of the time that the sums over one tenant may take: those over a large one are looked up less often."""


class TenantFigures:
    """The figures of `tenants.limits`, read once for all runs of a tenant that a driver moves. Thread-safe."""

    def __init__(self, database: Database, every_s: float) -> None:
        self._database, self._every_s = database, every_s
        self._known: dict[str, tuple[Row | None, float, float]] = {}  # figures, when they were read, seconds it took
        self._lock = threading.Lock()

    def of(self, tenant_id: str, changed: bool) -> Row | None:
        """Return a tenant's figures, at most `every_s` old. `changed`: something was used, so older ones are not."""
        with self._lock:
            figures, read_at, took_s = self._known.get(tenant_id, (None, float("-inf"), 0.0))
            pause_s = max(0.0 if changed else self._every_s, took_s * (1 / _SHARE - 1))
            begun = time.monotonic()
            if begun - read_at >= pause_s:
                figures = self._database.one("tenants.limits", tenant=tenant_id, storage=True)
                read_at = time.monotonic()
                self._known[tenant_id] = figures, read_at, read_at - begun
            return figures


class Limits:
    """The limits of a leased run. They are looked up after each step and every `every_s` seconds, not in every turn."""

    def __init__(self, database: Database, lease: RunLease, every_s: float, tenants: TenantFigures) -> None:
        self._database, self._lease, self._every_s, self._tenants = database, lease, every_s, tenants
        self._looked_at, self._committed = 0.0, -1
        self._reached: Limit | None = None
        self.left: float | None = None
        """What is left of the budget, as a multiple of what the run has cost; None without a budget or costs."""

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
