"""Heartbeats: rows in which processes report that they are alive, and the rules for a process that is silent.

A worker (trainer, rollout, sinks) reports in `workers` three times in each `lease_s`. An engine reports in `engines`
every `sweep_s`. A process that stops in order deletes its row. The row of a killed process stays until it is old.
"""

import logging

from hone.store.database import AsyncDatabase, Database

REMEMBERED_LEASES = 6
"""A process that has been silent for this many leases will not come back under its name."""

FORGET_S = 3600.0
"""Seconds of silence after which a row is deleted: long after its alert. A process that reports again enters anew."""

_log = logging.getLogger(__name__)


class Heartbeat:
    """The row of one worker in `workers`."""

    def __init__(self, database: Database, kind: str, worker_id: str) -> None:
        self._database, self._kind, self._id = database, kind, worker_id

    def beat(self) -> None:
        """Report that this worker is alive. Raises psycopg.OperationalError."""
        self._database.run("workers.beat", id=self._id, kind=self._kind)

    def leave(self) -> None:
        """Delete this worker's row. Raises psycopg.OperationalError."""
        self._database.run("workers.leave", id=self._id)


class AsyncHeartbeat:
    """The same row for asyncio."""

    def __init__(self, database: AsyncDatabase, kind: str, worker_id: str) -> None:
        self._database, self._kind, self._id = database, kind, worker_id

    async def beat(self) -> None:
        """Report that this worker is alive. Raises psycopg.OperationalError."""
        await self._database.run("workers.beat", id=self._id, kind=self._kind)

    async def leave(self) -> None:
        """Delete this worker's row. Raises psycopg.OperationalError."""
        await self._database.run("workers.leave", id=self._id)


def interval_s(lease_s: float) -> float:
    """Return the seconds between two heartbeats of a worker, and between two renewals of a lease."""
    return lease_s / 3


def worker_is_alive(age_s: float, lease_s: float) -> bool:
    """Return whether a worker is alive that reported `age_s` seconds ago."""
    return age_s <= lease_s


def engine_fresh_s(sweep_s: float) -> float:
    """Return the seconds within which a live engine has reported."""
    return 3 * sweep_s + 2


def forget_silent(database: Database) -> int:
    """Delete the rows of engines and workers that were silent for `FORGET_S`; return how many.

    Raises psycopg.OperationalError.
    """
    gone = database.all("workers.forget_silent", silent_s=FORGET_S)
    for row in gone:
        _log.warning("%s %s has been silent for more than %d minutes and is forgotten", row["kind"], row["id"],
                     FORGET_S // 60)
    return len(gone)
