"""Makes packages, tasks of the desk and lives from hints: the generator or a model writes them, and they are proved."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome
from hone.judges.asking import AskedJudges
from hone.process import ending
from hone.rpc.errors import NotReady
from hone.sandbox.program import Program, Ran
from hone.store.database import AsyncDatabase, AsyncTransaction, Row
from services.simulation.packages.shelf import OWNER, PackageShelf
from services.simulation.packages.work import MakingWork, PastDeadline
from services.simulation.packages.workshop import ModelAway, Stopped

_AT_ONCE, _PAUSES_S = 4, (10.0, 20.0)
_HOLD_S, _LONGEST_REASON = 2.0, 4000
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Making:
    """How far an attempt came and the report so far. At the end also the digest, and the rows or the package."""

    progress: Mapping[str, Any]
    report: Mapping[str, Any]
    digest: str | None = None
    rows: Sequence[DatasetRow] | None = None
    package: Package | None = None
    content: bytes = b""  # of the package's archive


class PackageMaker:
    """The kind of jobs that make packages."""

    def __init__(self, database: AsyncDatabase, shelf: PackageShelf, judges: AskedJudges) -> None:
        self._database, self._shelf, self._judges = database, shelf, judges
        self.kind = Kind(self._work, record, at_once=_AT_ONCE, pauses_s=_PAUSES_S)

    async def _work(self, job: Job) -> Outcome:
        """Make a package, or say why it is made later or never. Raises OperationalError and NotReady."""
        row = await self._database.one("package_jobs.begin", id=job.subject)
        if row is None:
            return Done()
        OWNER.set(job.tenant_id)
        work = MakingWork(row, self._judges, self._shelf)
        making = asyncio.create_task(self._made(row, work))
        holding = asyncio.create_task(self._hold(job, work, making))
        try:
            await asyncio.wait([making])
        finally:
            await ending.cancelled([making, holding])
        return Done() if making.cancelled() else _outcome(making, work)

    async def _made(self, row: Row, work: MakingWork) -> Making:
        """Make a package and prove it, or make rows. Raises NoWorld, PastDeadline, and what is tried again."""
        async with work.in_time():
            if row["environment"] != "package":
                rows = await work.rows()
                return Making(work.progress, work.report, digest(rows), rows)
            found, report = await work.made()
            await self._prove(found)
            found, report = await work.tried(found, report)
            content = await asyncio.to_thread(archive.packed, found.files)
            return Making(work.progress, report, found.digest, package=found, content=content)

    async def _hold(self, job: Job, work: MakingWork, making: "asyncio.Task[Making]") -> None:
        """Store the progress of a job, and give the work up where it was cancelled."""
        while True:
            with suppress(OperationalError):
                held = await self._database.one(
                    "package_jobs.keep", id=job.subject, **job.fence, progress=Jsonb(work.progress))
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


def _outcome(making: "asyncio.Task[Making]", work: MakingWork) -> Outcome:
    """Return the outcome of an attempt that has ended. Raises OperationalError and NotReady."""
    error, so_far = making.exception(), Making(work.progress, work.report)
    if isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]  # of episodes of one trial
    match error:
        case None:
            return Done(making.result())
        case NoWorld() | PastDeadline():
            return Failed(str(error), so_far)
        case OperationalError() | NotReady():
            raise error
        case ModelAway() | ToolsLost() | EpisodeLost() | TimeoutError() | OSError():
            return Again(str(error) or type(error).__name__, found=so_far)
        case BaseException():
            _log.error("a package is not made", exc_info=error)
            return Again(f"{type(error).__name__}: {error}", found=so_far)


async def record(opened: AsyncTransaction, job: Job, outcome: Outcome) -> None:
    """Write the state of a job after an attempt, and the package that it made. One that was cancelled keeps nothing."""
    match outcome:
        case Again():
            await opened.run("package_jobs.again", id=job.subject, reason=outcome.reason[:_LONGEST_REASON])
        case Failed():
            known = outcome.found
            await opened.run("package_jobs.fail", id=job.subject, reason=outcome.reason[:_LONGEST_REASON],
                             report=Jsonb(known.report) if known else None,
                             progress=Jsonb(known.progress) if known else None)
        case Done(found=Making() as made):
            ended = await opened.one("package_jobs.done", id=job.subject, digest=made.digest,
                                     report=Jsonb(made.report), progress=Jsonb(made.progress),
                                     rows=None if made.rows is None else Jsonb(made.rows))
            if ended is not None and made.package is not None:
                named = {"tenant_id": job.tenant_id, "name": ended["name"]}
                await opened.one("packages.lock", **named)
                await opened.one("packages.put", **named, digest=made.digest, facts=Jsonb(facts(made.package)),
                                 content=made.content)


class _RunnerForAWhile:
    """Runs the programs of a thread until nobody waits for it any more."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self.ended = runner, False

    def run(self, program: Program) -> Ran:
        """Return the result of a program. Raises Stopped."""
        if self.ended:
            raise Stopped
        return self._runner.run(program)
