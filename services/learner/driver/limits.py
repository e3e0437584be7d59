"""The limits of a run that a driver moves."""

import time

from hone.limits import Limit, reached
from hone.store.database import Database
from services.learner.driver.lease import RunLease


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
            figures = self._database.one("tenants.limits", tenant_id=self._lease.tenant_id, run_id=self._lease.run_id)
            self._reached = None if figures is None else reached(figures)
        return self._reached
