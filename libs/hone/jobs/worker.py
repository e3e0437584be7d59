"""The worker: it takes jobs of some kinds, makes attempts at a few at a time, renews their leases and settles them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial

from psycopg import OperationalError

from hone.jobs.job import Again, Failed, Job, Kind, Outcome
from hone.jobs.rows import LEASE_S, JobRows, LeaseLost
from hone.process import ending
from hone.rpc.errors import NotReady
from hone.store.database import AsyncDatabase

MOST_TAKEDOWNS = 5
"""Workers in a row that may go away with a job before it is given up."""
_LOOK_S = 0.5
"""Seconds between two looks for jobs, if nothing wakes the worker."""
_RENEWALS = 12
"""Renewals in a lease. A job whose subject was deleted stops at the next one."""
_log = logging.getLogger(__name__)


class Worker:
    """Works on the jobs of `kinds`. A job whose process was killed is taken by another one when its lease has ended."""

    def __init__(
        self, database: AsyncDatabase, name: str, kinds: Mapping[str, Kind], lease_s: float = LEASE_S,
    ) -> None:
        self._kinds, self._lease_s = kinds, lease_s
        self._rows = JobRows(database, name, list(kinds), lease_s)
        self._working = dict[Job, asyncio.Task[None]]()
        self._due, self._woken = set[str](), asyncio.Event()

    def wake(self, kind: str) -> None:
        """Look for jobs of a kind at once: some may be new."""
        self._due.add(kind)
        self._woken.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work until the context ends; then others may take the jobs that have not ended."""
        with suppress(OperationalError):
            await self._rows.inherit()
        loops = [asyncio.create_task(self._take_forever()), asyncio.create_task(self._renew_forever())]
        try:
            yield
        finally:
            await ending.cancelled([*loops, *self._working.values()])
            with suppress(OperationalError):
                await self._rows.give_back()

    async def _take_forever(self) -> None:
        while True:
            due, self._due = self._due or set(self._kinds), set()
            self._woken.clear()
            for name in due:
                try:
                    await self._take(name, self._kinds[name])
                except OperationalError as away:
                    _log.warning("no jobs of kind %s are taken: %s", name, away)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._woken.wait()

    async def _take(self, name: str, kind: Kind) -> None:
        free = kind.at_once - sum(job.kind == name for job in self._working)
        for job in await self._rows.take(name, free) if free > 0 else []:
            task = self._working[job] = asyncio.create_task(self._work(job, kind))
            task.add_done_callback(partial(self._ended, job))

    def _ended(self, job: Job, _: asyncio.Task[None]) -> None:
        del self._working[job]
        self.wake(job.kind)

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self._lease_s / _RENEWALS)
            held = dict(self._working)
            try:
                kept = await self._rows.renew(held.keys()) if held else set()
            except OperationalError as away:
                _log.warning("the leases of %d jobs are not renewed: %s", len(held), away)
                continue
            for job, task in held.items():
                if (job.id, job.epoch) not in kept:
                    task.cancel()

    async def _work(self, job: Job, kind: Kind) -> None:
        """Make an attempt and settle it. While the database is away nothing is settled: the lease ends by itself."""
        try:
            await self._rows.settle(job, kind, kind.final(job, await self._attempt(job, kind)))
        except (OperationalError, NotReady) as away:
            _log.warning("the %s %s is taken again: %s", job.kind, job.subject, away)
        except LeaseLost as lost:
            _log.info("the outcome of the %s is dropped: another worker has it, or it was deleted", lost)
        except Exception:
            _log.exception("the %s %s cannot be settled; it is taken again", job.kind, job.subject)

    async def _attempt(self, job: Job, kind: Kind) -> Outcome:
        """Return the outcome of an attempt. Raises OperationalError and NotReady while the database is away."""
        if kind.given_up and job.orphaned:
            return Failed("its tenant was deleted")
        if kind.given_up and job.takedowns >= MOST_TAKEDOWNS:
            before = f"; before that: {job.reason}" if job.reason else ""
            return Failed(f"it was begun {job.takedowns} times, and each time its process went away{before}")
        try:
            return await kind.work(job)
        except (OperationalError, NotReady):
            raise
        except Exception as error:
            _log.exception("an attempt at the %s %s crashed", job.kind, job.subject)
            return Again(f"{type(error).__name__}: {error}")
