"""The queue of grades by judges and programs. Whoever asks waits for what is stored; the work goes on without them.

A job is a row. Hints of the queue `grades` say that there are some, and services look for themselves as well.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from hone.crashpoints import reach
from hone.graders.contract import Result, Status
from hone.graders.error_kinds import ErrorKind, error_kind
from hone.graders.sample import Sent
from hone.graders.specs import Spec
from hone.process import ending
from hone.process.line import StillWaiting, Turn
from hone.queues.hearing import Hearing
from hone.queues.hints import Hints
from hone.queues.topology import CLAIM_GRADES, GRADES
from hone.rpc.errors import NotReady
from hone.spec.settings import Settings
from services.reward.grading import Grading, Key, units
from services.reward.jobs import LEASE_S, GradingJob, Jobs
from services.reward.ledger import Account, Ledger, StoredGrade
from services.reward.second_opinions import SecondOpinions

_LOOK_S, _BREATH_S = 0.5, 0.05
"""Seconds between two looks for grades that others store, and between two looks for jobs."""
_TURN_S, _BUSY_S = 60.0, 1.0
"""Seconds that a job waits for a place, and before it is taken again if it found none."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """What the queue is made of."""

    grading: Grading
    ledger: Ledger
    jobs: Jobs
    opinions: SecondOpinions


class GradingQueue:
    """Adds jobs for who asks, and works on those that are due, `most` at a time."""

    def __init__(self, part: Part, settings: Settings, most: int) -> None:
        self._part, self._settings, self._most = part, settings, most
        self._hints = Hints(settings, GRADES, CLAIM_GRADES)
        self._due, self._stored = asyncio.Event(), asyncio.Condition()
        self._working = dict[int, asyncio.Task[None]]()

    async def graded(
        self, account: Account, spec: Spec, samples: Mapping[Key, Sent], turn: Turn
    ) -> AsyncIterator[dict[Key, StoredGrade]]:
        """Yield grades as they are stored. Raises StillWaiting at the end of the turn; the work goes on."""
        if not samples:
            return
        together = [{key: samples[key] for key in keys} for keys in units(spec, samples)]
        if added := await self._part.jobs.add(account, spec, together):
            self._due.set()
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
    async def working(self) -> AsyncIterator[None]:
        """Work on jobs until the context ends; then others may take those that are not done."""
        loop = asyncio.get_running_loop()
        with suppress(NotReady):
            await self._part.jobs.release()  # of an earlier process of this name
        hearing = Hearing(self._settings, GRADES, lambda: loop.call_soon_threadsafe(self._due.set))
        tasks = [asyncio.create_task(self._take_forever()), asyncio.create_task(self._renew_forever())]
        try:
            yield
        finally:
            hearing.close()
            await ending.cancelled([*tasks, *self._working.values()])
            with suppress(NotReady):
                await self._part.jobs.release()
            self._hints.close()

    async def _take_forever(self) -> None:
        while True:
            self._due.clear()
            try:
                pause_s = await self._take()
            except NotReady as away:
                _log.warning("no grades are taken: %s", away)
                pause_s = self._settings.sweep_s
            with suppress(TimeoutError):
                async with asyncio.timeout(max(_BREATH_S, pause_s)):
                    await self._due.wait()

    async def _take(self) -> float:
        """Take jobs for the free places, and return the seconds until there may be more to take."""
        free = self._most - len(self._working)
        taken = await self._part.jobs.claim(free) if free else []
        for job in taken:
            self._working[job.id] = task = asyncio.create_task(self._work(job))
            task.add_done_callback(partial(self._ended, job.id))
        most_s = self._settings.sweep_s
        return most_s if len(taken) == free else await self._part.jobs.soonest_s(most_s)

    def _ended(self, job_id: int, task: asyncio.Task[None]) -> None:
        del self._working[job_id]
        self._due.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a grade of job %d failed; it is taken again", job_id, exc_info=error)

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(NotReady):  # the lease lasts for two more
                await self._part.jobs.renew(list(self._working))

    async def _work(self, job: GradingJob) -> None:
        """Grade a job once and settle it. While the database is away nothing is settled: the job is taken again."""
        account = job.account
        turn = Turn(account.run_id, _TURN_S, account.tenant_id, account.key_id)
        try:
            results = await self._part.grading.once(job.spec, tuple(job.samples.values()), turn)
        except StillWaiting as waiting:
            await self._part.jobs.again(job, _BUSY_S, str(waiting), parked=job.late, counts=False)
            return
        graded = dict(zip(job.samples, results, strict=True))
        await self._part.opinions.ask(job, graded, turn)
        await self._settle(job, graded)

    async def _settle(self, job: GradingJob, results: Mapping[Key, Result]) -> None:
        """Store what a job's grades are, or let it be tried again where the system failed.

        After the last attempt its samples are masked. Their late grade stands beside, and nobody trains on it.
        """
        why = next((": ".join((one.status, *one.reasons)) for one in results.values() if _may_pass(one)), None)
        if why and job.pause_s is not None:
            await self._part.jobs.again(job, job.pause_s, why, parked=False)
            return
        if not (why and job.late and job.later_s):
            account = replace(job.account, regrade_no=1) if job.late else job.account
            reach("grade.before-row")
            await self._part.ledger.add(account, results)
            reach("grade.after-row")
        if why and job.later_s:
            await self._part.jobs.again(job, job.later_s, why, parked=True)
        else:
            await self._part.jobs.done(job)
        async with self._stored:
            self._stored.notify_all()


def _may_pass(result: Result) -> bool:
    """Return whether another attempt may succeed. A judge that cannot be read says the same again."""
    if result.status is Status.JUDGE_ERROR:
        return error_kind(result.status, result.reasons) is ErrorKind.MODEL_SERVER
    return result.status is Status.INFRA_ERROR
