"""Makes packages from hints: takes a job, has a process of its own make the package, and proves it in the sandbox."""

import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from psycopg import OperationalError
from psycopg.types.json import Jsonb

from hone.environments.packages import archive, package
from hone.environments.packages.calling import ToolsLost
from hone.environments.packages.facts import facts
from hone.environments.packages.package import FILES, Package
from hone.environments.synthesis.report import solvable_share
from hone.process import ending
from hone.store.database import AsyncDatabase, Row
from services.simulation.packages.shelf import OWNER, PackageShelf

LONGEST_S, LEASE_S = 300.0, 600.0
_LOOK_S, _AGAIN_S, _MOST_ATTEMPTS, _LONGEST_REASON = 1.0, 10.0, 3, 4000
_log = logging.getLogger(__name__)


class NoPackage(Exception):
    """The hint leads to no package, and never will. The message has the reason and what was tried."""


class PackageJobs:
    """Takes one job at a time. A job whose service went away is taken again when its lease has ended."""

    def __init__(self, database: AsyncDatabase, shelf: PackageShelf, owner: str) -> None:
        self._database, self._shelf, self._owner = database, shelf, owner

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work until the context ends; then others may take what is not done."""
        taking = asyncio.create_task(self._take_forever())
        try:
            yield
        finally:
            await ending.cancelled([taking])
            with suppress(OperationalError):
                await self._database.run("package_jobs.release", owner=self._owner)

    async def _take_forever(self) -> None:
        with suppress(OperationalError):
            await self._database.run("package_jobs.release", owner=self._owner)  # of an earlier process of this name
        while True:
            try:
                job = await self._database.one("package_jobs.claim", owner=self._owner, lease_s=LEASE_S)
                if job is not None:
                    await self._work(job)
                    continue
            except OperationalError as away:
                _log.warning("no packages are made: %s", away)
            await asyncio.sleep(_LOOK_S)

    async def _work(self, job: Row) -> None:
        try:
            found, report = await _made(job)
            await self._prove(job, found)
        except NoPackage as none:
            await self._end(job, "failed", str(none))
        except (ToolsLost, TimeoutError, OSError, ValueError) as error:
            _log.warning("the package of job %s is not made: %s", job["id"], error)
            await self._later(job, f"{type(error).__name__}: {error}")
        else:
            await self._keep(job, found, report)

    async def _prove(self, job: Row, found: Package) -> None:
        """Solve each task once more, with the tools in the sandbox. Raises NoPackage, ToolsLost."""
        OWNER.set(job["tenant_id"])
        share = await asyncio.to_thread(solvable_share, self._shelf, found)
        if share < 1:
            raise NoPackage(f"{share:.0%} of the tasks can be solved in the sandbox, expected all of them")

    async def _keep(self, job: Row, found: Package, report: dict[str, Any]) -> None:
        content = await asyncio.to_thread(archive.packed, found.files)
        async with self._database.transaction() as transaction:
            await transaction.one("packages.put", tenant_id=job["tenant_id"], name=job["name"], digest=found.digest,
                                  facts=Jsonb(facts(found)), content=content)
            await transaction.run("package_jobs.done", id=job["id"], attempts=job["attempts"], digest=found.digest,
                                  report=Jsonb(report))

    async def _later(self, job: Row, reason: str) -> None:
        if job["attempts"] >= _MOST_ATTEMPTS:
            await self._end(job, "failed", reason)
        else:
            await self._database.run("package_jobs.again", id=job["id"], attempts=job["attempts"],
                                     after_s=_AGAIN_S * job["attempts"], reason=reason[:_LONGEST_REASON])

    async def _end(self, job: Row, state: str, reason: str) -> None:
        await self._database.run("package_jobs.end", id=job["id"], attempts=job["attempts"], state=state,
                                 reason=reason[:_LONGEST_REASON])


async def _made(job: Row) -> tuple[Package, dict[str, Any]]:
    """Return the package that a process of its own makes, and its report. Raises NoPackage and TimeoutError."""
    with tempfile.TemporaryDirectory(prefix="hone-package-") as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hone.environments.synthesis", "--seed", str(job["seed"]), "--tasks",
            str(job["tasks"]), "--out", folder, "--", job["hint"], stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE)
        try:
            async with asyncio.timeout(LONGEST_S):
                said, complaint = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == 1 and not said:
            raise NoPackage(complaint.decode(errors="replace").strip())
        if process.returncode:
            raise ChildProcessError(f"its process ended with {process.returncode}: {complaint.decode()[-500:]}")
        return package.read({name: (Path(folder) / name).read_bytes() for name in FILES}), json.loads(said)
