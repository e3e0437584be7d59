"""The rows of jobs: taken with a lease, renewed, and settled together with the rows that users see."""

from collections.abc import Collection, Sequence

from hone.jobs.job import Again, Job, Kind, Outcome
from hone.store.database import AsyncDatabase

LEASE_S = 60.0
"""Seconds after which another worker takes a job whose worker is silent."""
LONGEST_REASON = 2000
"""Characters of a reason that are kept."""


class LeaseLost(Exception):
    """Another worker has the job, or its subject is gone. Nothing was written."""


class JobRows:
    """The jobs of a worker. Each method raises psycopg.OperationalError while the database is away."""

    def __init__(self, database: AsyncDatabase, worker: str, kinds: Sequence[str], lease_s: float = LEASE_S) -> None:
        self._database, self._worker, self._kinds, self._lease_s = database, worker, list(kinds), lease_s

    async def take(self, kind: str, count: int) -> list[Job]:
        """Take up to `count` jobs of a kind that are due. Their owners take turns."""
        rows = await self._database.all("jobs.take", kind=kind, count=count, worker=self._worker, lease_s=self._lease_s)
        return [Job(**row) for row in rows]

    async def renew(self, jobs: Collection[Job]) -> set[tuple[int, int]]:
        """Keep jobs for another lease. Return id and epoch of each job that this worker still has."""
        rows = await self._database.all("jobs.renew", ids=[job.id for job in jobs], epochs=[job.epoch for job in jobs],
                                        lease_s=self._lease_s)
        return {(row["id"], row["epoch"]) for row in rows}

    async def settle(self, job: Job, kind: Kind, outcome: Outcome) -> None:
        """Record an outcome, and end the job or have it taken again later. Raises LeaseLost."""
        async with self._database.transaction() as opened:
            await kind.record(opened, job, outcome)
            if isinstance(outcome, Again):
                kept = await opened.one("jobs.again", **job.fence, after_s=outcome.after_s, late=outcome.late,
                                        reason=outcome.reason[:LONGEST_REASON], unused=int(not outcome.counts))
            else:
                kept = await opened.one("jobs.end", **job.fence)
            if kept is None:
                raise LeaseLost(f"{job.kind} {job.subject}")

    async def inherit(self) -> None:
        """Let the jobs be taken at once that an earlier process of this name had."""
        await self._database.run("jobs.inherit", worker=self._worker, kinds=self._kinds)

    async def give_back(self) -> None:
        """Let other workers take the jobs of this worker, whose attempts at them do not count."""
        await self._database.run("jobs.give_back", worker=self._worker, kinds=self._kinds)
