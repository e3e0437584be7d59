"""Grades that take a while, as rows: what is graded, by what, for whom. A row outlives the call that asked for it."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from hone.graders.sample import Sent
from hone.graders.specs import Spec, spec
from hone.rpc import outage
from hone.store.database import AsyncDatabase, Row
from services.reward.grading import Key
from services.reward.ledger import Account

LEASE_S = 60.0
"""Seconds after which a job whose service is silent is another one's."""
RETRIES_S = (1.0, 4.0)
"""Seconds before the second and the third attempt at a grade that the system failed."""
LATER_S = (60.0, 600.0, 3600.0, 6 * 3600.0)
"""Seconds before each attempt at the late grade of a sample that was masked; after the last one it is given up."""


@dataclass(frozen=True)
class GradingJob:
    """A job that this service has taken."""

    id: int
    account: Account
    spec: Spec
    samples: Mapping[Key, Sent]
    attempts: int  # this one included

    @property
    def late(self) -> bool:
        """Whether the samples were masked already."""
        return self.attempts > len(RETRIES_S) + 1

    @property
    def pause_s(self) -> float | None:
        """Seconds until the next attempt if this one fails; None: it is the last one before the samples are masked."""
        return RETRIES_S[self.attempts - 1] if self.attempts <= len(RETRIES_S) else None

    @property
    def later_s(self) -> float | None:
        """Seconds until the next attempt at a late grade; None: there is none, as for what is asked for later."""
        place = self.attempts - len(RETRIES_S) - 1
        return LATER_S[place] if place < len(LATER_S) and not self.account.regrade_no else None


class Jobs:
    """The rows of jobs. Each method raises NotReady, with the reason, while the database is away."""

    def __init__(self, database: AsyncDatabase, owner: str) -> None:
        self._database, self._owner = database, owner

    async def add(self, account: Account, grader: Spec, units: Iterable[Mapping[Key, Sent]]) -> int:
        """Add a job for each unit, samples of one group, unless it is there. Return how many are new."""
        lines = [_line(account, grader, unit) for unit in units]
        with outage.reported():
            rows = await self._database.all("grading_jobs.add", **account.names(), jobs=json.dumps(lines))
        return len(rows)

    async def claim(self, count: int) -> list[GradingJob]:
        """Take up to `count` jobs that are due."""
        with outage.reported():
            rows = await self._database.all(
                "grading_jobs.claim", count=count, owner=self._owner, lease_s=LEASE_S)
        return list(map(_job, rows))

    async def renew(self, ids: Sequence[int]) -> None:
        """Keep jobs that are in work."""
        with outage.reported():
            await self._database.run("grading_jobs.renew", ids=list(ids), owner=self._owner, lease_s=LEASE_S)

    async def done(self, job: GradingJob) -> None:
        """Delete a job whose grades are stored."""
        with outage.reported():
            await self._database.run("grading_jobs.done", id=job.id)

    async def again(self, job: GradingJob, after_s: float, reason: str, parked: bool, counts: bool = True) -> None:
        """Let a job be taken again later. `counts`: this was an attempt."""
        with outage.reported():
            await self._database.run(
                "grading_jobs.again", id=job.id, owner=self._owner, attempts=job.attempts, after_s=after_s,
                reason=reason[:2000], state="parked" if parked else "waiting", unused=int(not counts))

    async def release(self) -> None:
        """Let others take the jobs that a process of this name has."""
        with outage.reported():
            await self._database.run("grading_jobs.release", owner=self._owner)

    async def soonest_s(self, most_s: float) -> float:
        """Return the seconds until a job is due, at most `most_s`."""
        with outage.reported():
            row = await self._database.one("grading_jobs.soonest")
        left_s = row["left_s"] if row else None
        return most_s if left_s is None else max(0.0, min(most_s, left_s))

    async def reason(self, account: Account, group_ids: Iterable[int]) -> str:
        """Return why grades are not there yet, for people."""
        with outage.reported():
            row = await self._database.one("grading_jobs.waiting", group_ids=sorted(set(group_ids)),
                                           grader_hash=account.grader_hash, regrade_no=account.regrade_no)
        why = f": {row['reason']}" if row and row["reason"] else ""
        return f"{row['jobs'] if row else 0} jobs in the queue of grades{why}"


def _line(account: Account, grader: Spec, unit: Mapping[Key, Sent]) -> dict[str, object]:
    [group_id] = {group_id for group_id, _ in unit}
    body = {"grader": grader.json, "key": account.key_id, "samples": [asdict(sent) for sent in unit.values()]}
    return {"group_id": group_id, "indexes": [index for _, index in unit],
            "body": base64.b64encode(zlib.compress(json.dumps(body).encode(), 1)).decode()}


def _job(row: Row) -> GradingJob:
    body = json.loads(zlib.decompress(row["body"]))
    samples = {(row["group_id"], index): Sent(**sent)
               for index, sent in zip(row["indexes"], body["samples"], strict=True)}
    account = Account(row["tenant_id"], row["run_id"], row["grader_hash"], body["key"], row["regrade_no"])
    return GradingJob(row["id"], account, spec(body["grader"]), samples, row["attempts"])
