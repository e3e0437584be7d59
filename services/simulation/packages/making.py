"""Makes packages, tasks of the desk and lives from hints: takes jobs, has the generator or a model work, and proves it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from psycopg import OperationalError
from psycopg.types.json import Jsonb

from hone.environments.contract import EpisodeLost
from hone.environments.contract import Row as DatasetRow
from hone.environments.hashing import digest
from hone.environments.packages import archive
from hone.environments.packages.calling import Runner, ToolsLost
from hone.environments.packages.facts import facts
from hone.environments.packages.package import Package
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.report import solvable_share
from hone.judges.asking import AskedJudges
from hone.process import ending
from hone.rpc.errors import NotReady
from hone.sandbox.program import Program, Ran
from hone.store.database import AsyncDatabase, Row
from services.simulation.packages.shelf import OWNER, PackageShelf
from services.simulation.packages.work import MakingWork, PastDeadline
from services.simulation.packages.workshop import ModelAway, Stopped

LEASE_S = 60.0
_AT_ONCE, _MOST_ATTEMPTS, _MOST_TAKEN = 4, 3, 8
_LOOK_S, _AGAIN_S, _HOLD_S, _LONGEST_REASON = 1.0, 10.0, 2.0, 4000
_log = logging.getLogger(__name__)


class PackageJobs:
    """Takes a few jobs at a time. One whose service went away is taken again when its lease has ended."""

    def __init__(self, database: AsyncDatabase, shelf: PackageShelf, judges: AskedJudges, owner: str) -> None:
        self._database, self._shelf, self._judges, self._owner = database, shelf, judges, owner
        self._working = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work until the context ends; then others may take what is not done."""
        taking = asyncio.create_task(self._take_forever())
        try:
            yield
        finally:
            await ending.cancelled([taking, *self._working])
            with suppress(OperationalError):
                await self._database.run("package_jobs.release", owner=self._owner)

    async def _take_forever(self) -> None:
        with suppress(OperationalError):
            await self._database.run("package_jobs.release", owner=self._owner)  # of an earlier process of this name
        while True:
            try:
                if len(self._working) < _AT_ONCE and (job := await self._database.one(
                        "package_jobs.claim", owner=self._owner, lease_s=LEASE_S)) is not None:
                    task = asyncio.create_task(self._work(job))
                    self._working.add(task)
                    task.add_done_callback(self._working.discard)
                    continue
            except OperationalError as away:
                _log.warning("no packages are made: %s", away)
            await asyncio.sleep(_LOOK_S)

    async def _work(self, job: Row) -> None:
        """Make a package, or say why it is made later or never. While the database is away the lease ends by itself."""
        OWNER.set(job["tenant_id"])
        work = MakingWork(job, self._judges, self._shelf)
        making = asyncio.create_task(self._made(job, work))
        holding = asyncio.create_task(self._hold(job, work, making))
        try:
            await asyncio.wait([making])
        finally:
            await ending.cancelled([making, holding])
        try:
            await self._settle(job, work, None if making.cancelled() else making.exception())
        except OperationalError as away:
            _log.warning("the package job %s is taken again: %s", job["id"], away)

    async def _settle(self, job: Row, work: MakingWork, error: BaseException | None) -> None:
        """Say what becomes of a job whose work ended with an error."""
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]  # of episodes of one trial
        match error:
            case None:
                return
            case NoWorld() | PastDeadline():
                await self._fail(job, work, str(error))
            case OperationalError() | NotReady():
                _log.warning("the package job %s is taken again: %s", job["id"], error)
            case ModelAway() | ToolsLost() | EpisodeLost() | TimeoutError() | OSError():
                await self._later(job, work, str(error) or type(error).__name__)
            case BaseException():
                _log.error("the package of job %s is not made", job["id"], exc_info=error)
                await self._later(job, work, f"{type(error).__name__}: {error}")

    async def _made(self, job: Row, work: MakingWork) -> None:
        """Make, prove and keep a package. Raises NoWorld, PastDeadline, and what is tried again."""
        if job["attempts"] > _MOST_TAKEN:
            raise NoWorld(f"it was begun {_MOST_TAKEN} times, and each time its process went away")
        if job["environment"] != "package":
            async with work.in_time():
                rows = await work.rows()
            await self._keep_rows(job, work, rows)
            return
        async with work.in_time():
            found, report = await work.made()
            await self._prove(found)
            found, report = await work.tried(found, report)
        await self._keep(job, work, found, report)

    async def _hold(self, job: Row, work: MakingWork, making: "asyncio.Task[None]") -> None:
        """Keep the lease of a job and its progress, and give the work up where it was lost or cancelled."""
        while True:
            with suppress(OperationalError):
                held = await self._database.one(
                    "package_jobs.keep", id=job["id"], owner=self._owner, attempts=job["attempts"], lease_s=LEASE_S,
                    progress=Jsonb(work.progress))
                if held is None:
                    making.cancel()
            await asyncio.sleep(_HOLD_S)

    async def _prove(self, found: Package) -> None:
        """Solve each task once more, with the tools in the sandbox. Raises NoWorld, ToolsLost."""
        runner = _RunnerForAWhile(self._shelf)
        try:
            share = await asyncio.to_thread(solvable_share, runner, found)
        finally:
            runner.ended = True
        if share < 1:
            raise NoWorld(f"{share:.0%} of the tasks can be solved in the sandbox, expected all of them")

    async def _keep(self, job: Row, work: MakingWork, found: Package, report: dict[str, Any]) -> None:
        """Store a package, unless its job was cancelled meanwhile."""
        content = await asyncio.to_thread(archive.packed, found.files)
        async with self._database.transaction() as transaction:
            ended = await transaction.one("package_jobs.done", id=job["id"], attempts=job["attempts"],
                                          digest=found.digest, report=Jsonb(report), rows=None,
                                          progress=Jsonb(work.progress))
            if ended is not None:
                await transaction.one("packages.lock", tenant_id=job["tenant_id"], name=job["name"])
                await transaction.one("packages.put", tenant_id=job["tenant_id"], name=job["name"],
                                      digest=found.digest, facts=Jsonb(facts(found)), content=content)

    async def _keep_rows(self, job: Row, work: MakingWork, rows: Sequence[DatasetRow]) -> None:
        """Store tasks of the desk or lives, unless their job was cancelled meanwhile."""
        await self._database.run("package_jobs.done", id=job["id"], attempts=job["attempts"], digest=digest(rows),
                                 report=Jsonb(work.report), progress=Jsonb(work.progress), rows=Jsonb(rows))

    async def _later(self, job: Row, work: MakingWork, reason: str) -> None:
        if job["attempts"] >= _MOST_ATTEMPTS:
            await self._fail(job, work, f"{reason} (after {job['attempts']} attempts)")
        else:
            await self._database.run("package_jobs.again", id=job["id"], attempts=job["attempts"],
                                     after_s=_AGAIN_S * job["attempts"], reason=reason[:_LONGEST_REASON])

    async def _fail(self, job: Row, work: MakingWork, reason: str) -> None:
        await self._database.run("package_jobs.fail", id=job["id"], attempts=job["attempts"],
                                 reason=reason[:_LONGEST_REASON], report=Jsonb(work.report),
                                 progress=Jsonb(work.progress))


class _RunnerForAWhile:
    """Runs the programs of a thread until nobody waits for it any more."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self.ended = runner, False

    def run(self, program: Program) -> Ran:
        """Return what a program did. Raises Stopped."""
        if self.ended:
            raise Stopped
        return self._runner.run(program)
