"""Domains in tau2-bench's format as they are added: read, and then run in the sandbox, task by task."""

import asyncio

from starlette.concurrency import run_in_threadpool

from hone.environments.packages.calling import ToolsLost
from hone.environments.packages.package import WrongPackage
from hone.environments.tau2 import archive
from hone.environments.tau2.domain import ServiceDomain
from hone.environments.tau2.program import examined
from hone.sandbox.client import ProgramRefused, Sandbox, SandboxBusy
from hone.sandbox.program import Ended, Program, Ran
from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from services.gateway.middleware.errors import Away

PROOF_S = 300.0
"""Seconds that the proof of a domain's tasks may take."""


async def proven(data: bytes, tenant_id: str, settings: Settings) -> ServiceDomain:
    """Return the domain of an archive with what is found of it.

    Raises WrongPackage, Away without a sandbox, and Invalid where the proof takes too long.
    """
    domain = await run_in_threadpool(archive.unpacked, data)
    async with Sandbox(settings.addresses.sandbox, settings.stack_token) as sandbox:
        runner = _LoopRunner(sandbox, tenant_id)
        try:
            return domain.with_findings(await run_in_threadpool(examined, runner, domain))
        except ToolsLost as lost:
            raise Away(f"The domain's code cannot be run now: {lost}") from lost
        except _TooLate as late:
            raise Invalid([Problem("file", f"{len(domain.tasks)} tasks that are not proven after {PROOF_S:g} s",
                                   "fewer tasks, or a smaller database")]) from late


class _TooLate(Exception):
    """The proof is not done in its time."""


class _LoopRunner:
    """Runs programs for threads, by the sandbox's client on the service's loop. Make it there."""

    def __init__(self, sandbox: Sandbox, tenant_id: str) -> None:
        self._sandbox, self._tenant_id, self._loop = sandbox, tenant_id, asyncio.get_running_loop()
        self._ends = self._loop.time() + PROOF_S

    def run(self, program: Program) -> Ran:
        """Return what a program did. One that finds no place is an infrastructure error.

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
