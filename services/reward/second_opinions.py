"""Second opinions: of a share of a run's training samples the judges are asked again, with another seed.

Whether they agree says how much of the reward is the judge's chance. Nothing trains on the second score.
"""

import zlib
from collections.abc import Mapping
from dataclasses import replace

from hone.graders.contract import Result, Status
from hone.graders.specs import Spec
from hone.process.line import StillWaiting, Turn
from hone.rpc import outage
from hone.store.database import AsyncDatabase
from services.reward.grading import Grading, Key
from services.reward.jobs import GradingJob
from services.reward.ledger import SECOND, Ledger

DISAGREES = "disagrees"
"""The component of a second score that is 1 where the two verdicts differ, else 0."""


class SecondOpinions:
    """Asks for second scores and stores them beside the first ones."""

    def __init__(self, database: AsyncDatabase, grading: Grading, ledger: Ledger) -> None:
        self._database, self._grading, self._ledger = database, grading, ledger

    async def ask(self, job: GradingJob, first: Mapping[Key, Result], turn: Turn) -> None:
        """Grade a job's samples once more if they are in the share. What cannot be graded now has no second score.

        Raises NotReady while the database is away.
        """
        if not await self._wanted(job) or any(result.score is None for result in first.values()):
            return
        try:
            results = await self._grading.once(job.spec, tuple(job.samples.values()), replace(turn, seed=1))
        except StillWaiting:
            return
        scored = {key: _compared(job.spec, first[key], result)
                  for key, result in zip(job.samples, results, strict=True) if result.score is not None}
        if scored:
            await self._ledger.add(replace(job.account, regrade_no=SECOND), scored)

    async def _wanted(self, job: GradingJob) -> bool:
        if not job.spec.judges or job.late or job.account.regrade_no:
            return False
        key = min(job.samples)
        with outage.reported():
            row = await self._database.one("grades.second_share", group_id=key[0])
        return row is not None and (row["share"] or 0.0) > drawn(key)


def drawn(key: Key) -> float:
    """Return a number from 0 up to 1 that follows from a sample's place alone, so that a repeated job asks the same."""
    return zlib.crc32(f"{key[0]} {key[1]}".encode()) / 2**32


def _compared(spec: Spec, first: Result, second: Result) -> Result:
    differs = _accepts(spec, first) != _accepts(spec, second)
    return Result(Status.OK, second.score, components={DISAGREES: float(differs)}, reasons=second.reasons,
                  extracted=second.extracted, decided_by=second.decided_by, cost_ms=second.cost_ms,
                  tokens=second.tokens, evidence=second.evidence)


def _accepts(spec: Spec, result: Result) -> bool:
    """Return whether a score is above the middle of its range, as checks of judges read it."""
    return result.score is not None and result.score > sum(spec.bounds) / 2
