"""The queue of grades by judges and programs. Whoever asks waits for what is stored; the work goes on without them.

Hints of the queue `grades` say that there are jobs, and the worker looks for them as well.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from hone.crashpoints import reach
from hone.graders.contract import Result, Status, failure
from hone.graders.error_kinds import ErrorKind, error_kind
from hone.graders.sample import Sent
from hone.graders.specs import Spec
from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome
from hone.process.line import StillWaiting, Turn
from hone.queues.hearing import Hearing
from hone.queues.hints import Hints
from hone.queues.topology import CLAIM_GRADES, GRADES
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction
from services.reward import ledger
from services.reward.grading import Grading, Key, units
from services.reward.jobs import GradingJob, Jobs, begun
from services.reward.ledger import Account, Ledger, StoredGrade
from services.reward.second_opinions import SecondOpinions
from services.reward.storable import storable_result

_LOOK_S = 0.5
"""Seconds between two looks for grades that others store."""
_TURN_S, _BUSY_S = 60.0, 1.0
"""Seconds that a job waits for a place, and before it is taken again if it found none."""
_CRASHES_S = (60.0,) * 4
"""Seconds before an attempt after a crash of this service's own. After the last one the samples are masked."""
KIND = "grading"


@dataclass(frozen=True)
class Part:
    """Parts of the queue."""

    grading: Grading
    ledger: Ledger
    jobs: Jobs
    opinions: SecondOpinions


class GradingQueue:
    """Adds jobs for who asks, and is the kind of jobs that grades them, `most` at a time."""

    def __init__(self, part: Part, settings: Settings, most: int) -> None:
        self._part, self._settings, self._most = part, settings, most
        self._hints = Hints(settings, GRADES, CLAIM_GRADES)
        self._stored = asyncio.Condition()
        self._wake: Callable[[str], None] = lambda _: None
        self.kind = Kind(self._work, self._record, at_once=most, pauses_s=_CRASHES_S)

    async def graded(
        self, account: Account, spec: Spec, samples: Mapping[Key, Sent], turn: Turn
    ) -> AsyncIterator[dict[Key, StoredGrade]]:
        """Yield grades as they are stored. Raises StillWaiting at the end of the turn; the work goes on."""
        if not samples:
            return
        together = [{key: samples[key] for key in keys} for keys in units(spec, samples)]
        if added := await self._part.jobs.add(account, spec, together):
            self._wake(KIND)
            await asyncio.to_thread(self._hints.send, min(added, self._most))
        missing, ends = set(samples), asyncio.get_running_loop().time() + turn.wait_s
        while missing:
            found = await self._part.ledger.stored(account, missing)
            missing -= found.keys()
            yield found
            if missing and asyncio.get_running_loop().time() >= ends:
                waits = await self._part.jobs.reason(account, (group_id for group_id, _ in missing))
                raise StillWaiting(f"{len(missing)} samples have no grade after {turn.wait_s:.3g} s, {waits}")
            if missing:
                await self._news()

    async def _news(self) -> None:
        """Return when this service stored grades, or after a while: another one may have."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S), self._stored:
                await self._stored.wait()

    @asynccontextmanager
    async def hearing(self, wake: Callable[[str], None]) -> AsyncIterator[None]:
        """Have the worker woken, by `wake`, for each hint of new jobs until the context ends."""
        loop, self._wake = asyncio.get_running_loop(), wake
        hearing = Hearing(self._settings, GRADES, lambda: loop.call_soon_threadsafe(wake, KIND))
        try:
            yield
        finally:
            hearing.close()
            self._hints.close()

    async def _work(self, taken: Job) -> Outcome:
        """Grade a job once, and store its grades or have it tried again. Raises NotReady while the database is away."""
        job = await self._part.jobs.begin(taken)
        if job is None:
            return Done()
        account = job.account
        turn = Turn(account.run_id, _TURN_S, account.tenant_id, account.key_id)
        try:
            results = await self._part.grading.once(job.spec, tuple(job.samples.values()), turn)
        except StillWaiting as waiting:
            return Again(str(waiting), _BUSY_S, counts=False)
        graded = dict(zip(job.samples, results, strict=True))
        await self._part.opinions.ask(job, graded, turn)
        return await self._settled(job, graded)

    async def _settled(self, job: GradingJob, results: Mapping[Key, Result]) -> Outcome:
        """Store the grades of a job, or have it tried again where the system failed.

        After the last attempt its samples are masked. Their late grade stands beside, and nobody trains on it.
        """
        why = next((": ".join((one.status, *one.reasons)) for one in results.values() if _may_pass(one)), None)
        if why and job.pause_s is not None:
            return Again(why, job.pause_s)
        if not (why and job.late and job.later_s):
            account = replace(job.account, regrade_no=1) if job.late else job.account
            reach("grade.before-row")
            await self._part.ledger.add(account, results)
            reach("grade.after-row")
            async with self._stored:
                self._stored.notify_all()
        return Again(why, job.later_s, late=True) if why and job.later_s else Done()

    async def _record(self, opened: AsyncTransaction, taken: Job, outcome: Outcome) -> None:
        """Delete the row of a job that has ended. Samples that nobody could grade are masked."""
        if isinstance(outcome, Again):
            return
        row = await opened.one("grading_jobs.begin", id=taken.subject) if isinstance(outcome, Failed) else None
        if row is not None and isinstance(outcome, Failed):
            job = begun(taken, row)
            masked = storable_result(failure(Status.INFRA_ERROR, outcome.reason))
            await ledger.write(opened, job.account, dict.fromkeys(job.samples, masked))
        await opened.run("grading_jobs.done", id=taken.subject)


def _may_pass(result: Result) -> bool:
    """Return whether another attempt may succeed. A judge that cannot be read says the same again."""
    if result.status is Status.JUDGE_ERROR:
        return error_kind(result.status, result.reasons) is ErrorKind.MODEL_SERVER
    return result.status is Status.INFRA_ERROR
