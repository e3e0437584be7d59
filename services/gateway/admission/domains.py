"""Packages, and domains in tau2-bench's format, as they are added: read, then run in the sandbox, task by task."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from hone.environments.packages.calling import Runner, ToolsLost
from hone.environments.packages.package import Package, WrongPackage
from hone.environments.packages.proof import problems
from hone.environments.tau2 import archive
from hone.environments.tau2.domain import ServiceDomain
from hone.environments.tau2.program import examined
from hone.sandbox.client import ProgramRefused, Sandbox, SandboxBusy
from hone.sandbox.program import Ended, Program, Ran
from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from services.gateway.middleware.errors import Away

PROOF_S = 300.0
"""Seconds that the proof of all tasks of a package or a domain may take."""
Result = TypeVar("Result")


async def proven(data: bytes, tenant_id: str, settings: Settings) -> ServiceDomain:
    """Return the domain of an archive with what is found of it.

    Raises WrongPackage, Away without a sandbox, and Invalid where the proof takes too long.
    """
    domain = await run_in_threadpool(archive.unpacked, data)
    return domain.with_findings(await _in_sandbox(
        lambda runner: examined(runner, domain), len(domain.tasks), tenant_id, settings))


async def prove(package: Package, tenant_id: str, settings: Settings) -> None:
    """Execute the chain of each task of a package.

    Raises Invalid with the tasks that their chains do not solve, or where the proof takes too long; WrongPackage, and
    Away without a sandbox.
    """
    wrong = await _in_sandbox(lambda runner: problems(runner, package), len(package.tasks), tenant_id, settings)
    if wrong:
        raise Invalid([replace(one, field=f"file.{one.field}") for one in wrong])


async def _in_sandbox(work: Callable[[Runner], Result], tasks: int, tenant_id: str, settings: Settings) -> Result:
    """Return the result of work with programs. Raises Away, WrongPackage and Invalid."""
    async with Sandbox(settings.addresses.sandbox, settings.stack_token) as sandbox:
        runner = _LoopRunner(sandbox, tenant_id)
        try:
            return await run_in_threadpool(work, runner)
        except ToolsLost as lost:
            raise Away(f"The code of its tools cannot be run now: {lost}") from lost
        except _TooLate as late:
            raise Invalid([Problem("file", f"{tasks} tasks that are not proven after {PROOF_S:g} s",
                                   "fewer tasks, smaller states, or tools that take less time")]) from late


class _TooLate(Exception):
    """The proof is not done in its time."""


class _LoopRunner:
    """Runs programs for threads, by the sandbox's client on the service's loop. Make it there."""

    def __init__(self, sandbox: Sandbox, tenant_id: str) -> None:
        self._sandbox, self._tenant_id, self._loop = sandbox, tenant_id, asyncio.get_running_loop()
        self._ends = self._loop.time() + PROOF_S

    def run(self, program: Program) -> Ran:
        """Return the result of a program. A program that finds no place is an infrastructure error.

        Raises _TooLate, and WrongPackage where the sandbox takes no such files.
        """
        left_s = self._ends - self._loop.time()
        if left_s <= 0:
            raise _TooLate
        work = asyncio.run_coroutine_threadsafe(self._sandbox.run(program, self._tenant_id), self._loop)
        try:
            return work.result(left_s)
        except ProgramRefused as refused:
            raise WrongPackage("files", str(refused), "files that the sandbox takes") from refused
        except SandboxBusy as busy:
            return Ran(Ended.INFRA_ERROR, str(busy))
        except TimeoutError:
            work.cancel()
            raise _TooLate from None
