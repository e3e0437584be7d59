"""Grades that take a while, as rows: what is graded, by what, for whom. A row outlives the call that asked for it."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from hone.graders.sample import Sent
from hone.graders.specs import Spec, spec
from hone.jobs.job import Job
from hone.rpc import outage
from hone.store.database import AsyncDatabase, Row
from services.reward.grading import Key
from services.reward.ledger import Account

RETRIES_S = (1.0, 4.0)
"""Seconds before the second and the third attempt at a grade that the system failed."""
LATER_S = (60.0, 600.0, 3600.0, 6 * 3600.0)
"""Seconds before each attempt at the late grade of a sample that was masked; after the last one it is given up."""


@dataclass(frozen=True)
class GradingJob:
    """A job that this service has begun."""

    account: Account
    spec: Spec
    samples: Mapping[Key, Sent]
    attempts: int  # this one included
    late: bool  # the samples were masked already

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

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def add(self, account: Account, grader: Spec, units: Iterable[Mapping[Key, Sent]]) -> int:
        """Add a job for each unit, samples of one group, unless it is there. Return how many are new."""
        lines = [_line(account, grader, unit) for unit in units]
        with outage.reported():
            rows = await self._database.all("grading_jobs.add", **account.names(), jobs=json.dumps(lines))
        return len(rows)

    async def begin(self, job: Job) -> GradingJob | None:
        """Return the grader and the samples of a job, None if its group was deleted."""
        with outage.reported():
            row = await self._database.one("grading_jobs.begin", id=job.subject)
        return None if row is None else begun(job, row)

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


def begun(job: Job, row: Row) -> GradingJob:
    """Return the job of a row."""
    body = json.loads(zlib.decompress(row["body"]))
    samples = {(row["group_id"], index): Sent(**sent)
               for index, sent in zip(row["indexes"], body["samples"], strict=True)}
    account = Account(row["tenant_id"], row["run_id"], row["grader_hash"], body["key"], row["regrade_no"])
    return GradingJob(account, spec(body["grader"]), samples, job.attempts, job.late)
