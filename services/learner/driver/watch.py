"""Looks whether a run is still wanted while something that takes long is computed for it."""

import threading
import time

from hone.store.database import Database
from hone.store.leases import LeaseLost
from services.learner.driver.lease import RunLease
from services.learner.driver.reporting import WaitingReason


class Interrupted(Exception):
    """The run is to be paused or cancelled, is past its deadline, or its driver ends. What was begun is given up."""


class Watch:
    """Reads every `every_s` seconds what is wanted of a run, and writes what it waits for."""

    def __init__(
        self, database: Database, lease: RunLease, waiting: WaitingReason, stop: threading.Event, every_s: float,
    ) -> None:
        self._database, self._lease, self._waiting, self._stop = database, lease, waiting, stop
        self._every_s, self._looked_at = every_s, time.monotonic()

    def begin(self) -> None:
        """Begin something that may take long: the first look that asks the database comes a while after."""
        self._looked_at = time.monotonic()

    def look(self, doing: str) -> None:
        """Let the run wait for `doing`, if that takes long. Raises Interrupted, LeaseLost."""
        if self._stop.is_set():
            raise Interrupted("the driver ends")
        if time.monotonic() - self._looked_at < self._every_s:
            return
        self._looked_at = time.monotonic()
        if not self.wanted():
            raise Interrupted(f"run {self._lease.run_id} is not to go on")
        self._waiting.write(doing)

    def wanted(self) -> bool:
        """Return whether the run is to go on now. Raises LeaseLost."""
        row = self._database.one("runs.wanted", run_id=self._lease.run_id, epoch=self._lease.epoch)
        if row is None:
            raise LeaseLost(self._lease.run_id)
        return row["desired"] == "run" and not row["past_deadline"]
