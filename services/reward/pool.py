"""Long-lived processes for graders that can hang: a process that takes too long is killed and replaced."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass, replace

from hone.graders.contract import Result, Status, failure
from hone.telemetry import logs

LIMIT_S = 5.0
"""Seconds after which a grade is interrupted."""
KILL_S = 10.0
"""Seconds after which the process of a grade is killed."""
PREPARE_S = 120.0
"""Seconds that a grader may take to get ready, before its first grade."""
_MAX_LINE = 2**22
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Job:
    """A grade to be made in the pool."""

    spec: str  # the grader as JSON
    item: str  # the task row as JSON
    output_text: str

    def line(self) -> bytes:
        """Return the job as a line for a worker's standard input, with the log fields of the caller."""
        job = {"spec": self.spec, "item": self.item, "output_text": self.output_text, "about": logs.present()}
        return json.dumps(job).encode() + b"\n"


class Pool:
    """`size` worker processes; each one starts when it is needed first.

    A worker interrupts a grade after `limit_s` seconds. Code below Python cannot be interrupted, so the worker is
    killed after `kill_s`. Both end as timeout_grader.
    """

    def __init__(self, size: int, limit_s: float = LIMIT_S, kill_s: float = KILL_S) -> None:
        self._workers = [_Worker(limit_s, kill_s) for _ in range(size)]
        self._free: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        for worker in self._workers:
            self._free.put_nowait(worker)

    async def grade(self, job: Job) -> Result:
        """Return the result of a job; it says why if there is no score."""
        worker = await self._free.get()
        try:
            return await worker.grade(job)
        finally:
            self._free.put_nowait(worker)

    def pids(self) -> list[int]:
        """Return the ids of the running processes."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    async def close(self) -> None:
        """Kill every worker."""
        for worker in self._workers:
            await worker.kill()


@dataclass(frozen=True)
class _Process:
    """A running process and its two pipes."""

    process: asyncio.subprocess.Process
    jobs: asyncio.StreamWriter
    answers: asyncio.StreamReader

    @property
    def ended(self) -> bool:
        """Whether the process is known to take no more jobs."""
        return self.process.returncode is not None or self.jobs.is_closing()

    async def answer(self, job: Job, kill_s: float) -> Result:
        """Return the job's result. Raises TimeoutError after `kill_s`, ConnectionError or EOFError if it has ended."""
        if self.jobs.is_closing():  # uvloop would raise a RuntimeError at the write
            raise ConnectionResetError("its input is closed")
        self.jobs.write(job.line())
        await self.jobs.drain()
        await self._wait_until_prepared()
        async with asyncio.timeout(kill_s):
            return _result(await self.answers.readuntil(b"\n"))

    async def _wait_until_prepared(self) -> None:
        try:
            async with asyncio.timeout(PREPARE_S):
                await self.answers.readuntil(b"\n")
        except TimeoutError as error:
            raise ConnectionError(f"it was not prepared within {PREPARE_S:g} s") from error


class _Worker:
    """A place for one process, which starts when it is needed."""

    def __init__(self, limit_s: float, kill_s: float) -> None:
        self._limit_s, self._kill_s = limit_s, kill_s
        self._running: _Process | None = None

    @property
    def pid(self) -> int | None:
        return self._running.process.pid if self._running else None

    async def grade(self, job: Job) -> Result:
        finished = False
        try:
            running = await self._ready()
            result = await running.answer(job, self._kill_s)
            finished = True
            return result
        except (EOFError, ConnectionError) as error:
            return failure(Status.INFRA_ERROR, f"the grader's process ended: {error}")
        except TimeoutError:
            return failure(Status.TIMEOUT_GRADER, f"the grader's process was killed after {self._kill_s:g} s")
        finally:
            if not finished:  # also if the caller was cancelled: the next job must not read this job's answer
                await self.kill()

    async def kill(self) -> None:
        """Kill the process; the next grade starts another one."""
        running, self._running = self._running, None
        if running is None:
            return
        if running.process.returncode is None:
            running.process.kill()
        await running.process.wait()

    async def _ready(self) -> _Process:
        if self._running is not None and self._running.ended:
            await self.kill()
        self._running = self._running or await self._start()
        return self._running

    async def _start(self) -> _Process:
        # The environment holds no secrets, because graders parse text that a policy wrote. The hash order is fixed,
        # because some verifiers iterate over sets.
        environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.reward.worker", str(self._limit_s), limit=_MAX_LINE,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
        if process.stdin is None or process.stdout is None:
            raise ConnectionError("it was started without pipes")
        return _Process(process, process.stdin, process.stdout)


def _result(line: bytes) -> Result:
    result = Result(**json.loads(line))
    return replace(result, status=Status(result.status), reasons=tuple(result.reasons))
