"""Long-lived processes for graders that can hang: a process that takes too long is killed and replaced.

Samples wait for a process, and tenants and their runs take turns.
"""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass, field, replace

from pydantic import TypeAdapter

from hone.graders.contract import Result, Status, failure
from hone.graders.sample import Sent
from hone.process.confined import environment
from hone.process.line import Line, Turn, Words
from hone.process.shares import FairShares
from hone.telemetry import logs, metrics

LIMIT_S = 5.0
"""Seconds after which a grade is interrupted."""
KILL_S = 10.0
"""Seconds after which the process of a grade is killed."""
PREPARE_S = 120.0
"""Seconds that a grader may take to get ready, before its first grade."""
BUDGET_S = 30.0
"""Seconds a minute and process that a tenant, or one of its runs, may use while others are graded, too."""
_RESULT = TypeAdapter(Result)
_MAX_LINE = 2**22
WORDS = Words("grading process", "samples", "Those without a grade are graded later")


@dataclass(frozen=True)
class Job:
    """Grades to be made in the pool by one process."""

    spec: str  # the grader as JSON
    samples: tuple[Sent, ...]  # those that are graded together
    turn: Turn = field(default_factory=Turn)

    def line(self) -> bytes:
        """Return the job as a line for a worker's standard input, with the log fields of the caller."""
        samples = [asdict(sample) for sample in self.samples]
        return json.dumps({"spec": self.spec, "samples": samples, "about": logs.present()}).encode() + b"\n"


class Pool:
    """`size` worker processes; each one starts when it is needed first.

    A worker interrupts a grade after `limit_s` seconds. Code below Python cannot be interrupted, so the worker is
    killed after `kill_s`. Both end as timeout_grader.
    """

    def __init__(self, size: int, limit_s: float = LIMIT_S, kill_s: float = KILL_S, budget_s: float = BUDGET_S) -> None:
        """`budget_s`: seconds a minute and process that a tenant, or a run, may use beside others."""
        self._workers = [_Worker(limit_s, kill_s) for _ in range(size)]
        self._line = Line(self._workers, FairShares(budget_s * size), WORDS)
        metrics.GRADES_WAITING.set_function(lambda: self.waiting)

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a process."""
        return self._line.waiting

    async def grade(self, job: Job) -> list[Result]:
        """Return the result of each sample of a job; it says why if there is no score.

        Raises StillWaiting if no process is free.
        """
        worker, owner = await self._line.take(job.turn), job.turn.owner
        began, seconds = self._line.shares.begin(owner), 0.0
        try:
            results = await worker.grade(job)
        finally:
            seconds = self._line.shares.end(owner, began)
            metrics.GRADING_SECONDS.inc(seconds)
            self._line.give_back(worker)
        return [one if one.cost_ms else replace(one, cost_ms=1000 * seconds / len(results)) for one in results]

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

    async def answer(self, job: Job, kill_s: float) -> list[Result]:
        """Return the job's results. Raises TimeoutError after `kill_s`, ConnectionError or EOFError if it has ended."""
        if self.jobs.is_closing():  # uvloop would raise a RuntimeError at the write
            raise ConnectionResetError("its input is closed")
        self.jobs.write(job.line())
        await self.jobs.drain()
        await self._wait_until_prepared()
        async with asyncio.timeout(kill_s):
            return _results(await self.answers.readuntil(b"\n"))

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

    async def grade(self, job: Job) -> list[Result]:
        finished = False
        try:
            running = await self._ready()
            results = await running.answer(job, self._kill_s)
            finished = True
            return results
        except (EOFError, ConnectionError) as error:
            failed = failure(Status.INFRA_ERROR, f"the grader's process ended: {error}")
        except TimeoutError:
            failed = failure(Status.TIMEOUT_GRADER, f"the grader's process was killed after {self._kill_s:g} s")
        finally:
            if not finished:  # also if the caller was cancelled: the next job must not read this job's answer
                await self.kill()
        return [failed] * len(job.samples)

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
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.reward.worker", str(self._limit_s), limit=_MAX_LINE,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment())
        if process.stdin is None or process.stdout is None:
            raise ConnectionError("it was started without pipes")
        return _Process(process, process.stdin, process.stdout)


def _results(line: bytes) -> list[Result]:
    return [_RESULT.validate_python(result) for result in json.loads(line)]
