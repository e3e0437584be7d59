"""Outages of Postgres and the object store, which a worker outlives."""

import logging
import threading
from collections.abc import Callable

from psycopg import InterfaceError, OperationalError
from psycopg.errors import DiskFull

from hone.store.objects import StoreAway

AWAY = (OperationalError, InterfaceError, StoreAway, PermissionError)
"""Postgres or the object store does not serve this process now. The same call may succeed later."""

_log = logging.getLogger(__name__)


def full_database(error: DiskFull) -> str:
    """Return the processes that wait for room on the database's disk, for a person to read."""
    return f"no space left on the database's disk: {str(error).splitlines()[0]}"


class Outages:
    """Does the work of a process that is not to end because Postgres or the object store is away."""

    def __init__(self, stop: threading.Event, pause_s: float) -> None:
        self._stop, self._pause_s = stop, pause_s

    def survive(self, work: Callable[[], object]) -> bool:
        """Do `work` and return True. If a server is away, log it, pause until `stop` at most, and return False."""
        try:
            work()
        except AWAY as away:
            _log.warning("waiting: %s", str(away).strip())
            self._stop.wait(self._pause_s)
            return False
        return True

    def outlast(self, work: Callable[[], object]) -> None:
        """Do `work`, again and again while a server is away, until it is done or the process is to stop."""
        while not self._stop.is_set() and not self.survive(work):
            pass
