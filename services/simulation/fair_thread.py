"""A thread in which owners take turns, so that the slow environments of one do not hold up the steps of others."""

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")
SLICE_S = 0.02
"""Time after which a job lets another owner's go first, between two of its parts."""


class Owner(NamedTuple):
    """Whose time some work uses."""

    tenant: str
    run: str


class FairThread:
    """Runs jobs in one thread, part by part, because some task generators use process-wide randomness.

    Next is the job of the tenant, and among its runs of the run, that has used least; jobs of one owner follow each
    other. A job that has started runs to its end even if its caller is cancelled, so that a repeated call finds its
    result. The thread is a daemon: a slow generator does not delay the end of the process.
    """

    def __init__(self, name: str) -> None:
        self._jobs: dict[Owner, deque[_Job]] = {}
        self._tenants, self._runs = _Used(), _Used()
        self._changed = threading.Condition()
        Thread(target=self._work, name=name, daemon=True).start()

    async def run(self, owner: Owner, work: Callable[[], Result]) -> Result:
        """Return the function's result, or raise its error."""
        (result,) = await self.run_all(owner, [work])
        return result

    async def run_all(self, owner: Owner, parts: Iterable[Callable[[], Result]]) -> list[Result]:
        """Return the results of a job's parts in order, or raise the first error."""
        job = _Job(owner, list(parts))
        with self._changed:
            if owner not in self._jobs:
                self._tenants.enter(owner.tenant, {other.tenant for other in self._jobs})
                self._runs.enter(owner.run, {other.run for other in self._jobs})
            self._jobs.setdefault(owner, deque()).append(job)
            self._changed.notify()
        results: list[Result] = await asyncio.wrap_future(job.future)
        return results

    def _work(self) -> None:
        while True:
            job, began = self._next(), time.monotonic()
            finished = job.advance(partial(self._interrupts, began + SLICE_S))
            self._leave(job, finished, time.monotonic() - began)

    def _next(self) -> "_Job":
        """Wait for a job, and return the one whose turn it is."""
        with self._changed:
            while not self._jobs:
                self._changed.wait()
            owner = min(self._jobs, key=lambda one: (self._tenants[one.tenant], self._runs[one.run]))
            return self._jobs[owner][0]

    def _interrupts(self, until: float) -> bool:
        """Return whether another owner's job goes first now."""
        return len(self._jobs) > 1 and time.monotonic() > until

    def _leave(self, job: "_Job", finished: bool, seconds: float) -> None:
        with self._changed:
            self._tenants.add(job.owner.tenant, seconds)
            self._runs.add(job.owner.run, seconds)
            if finished:
                self._jobs[job.owner].popleft()
            if not self._jobs[job.owner]:
                del self._jobs[job.owner]


class _Used:
    """Seconds that names have used. One that was away begins with as much as the least of those that were there."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def __getitem__(self, name: str) -> float:
        return self._seconds[name]

    def enter(self, name: str, present: Iterable[str]) -> None:
        """Note that a name has work beside those that have some; with nobody there, all begin anew."""
        there = [self._seconds[other] for other in present]
        if there:
            self._seconds[name] = max(self._seconds[name], min(there))
        else:
            self._seconds.clear()

    def add(self, name: str, seconds: float) -> None:
        self._seconds[name] += seconds


class _Job:
    """Functions that are called one after another, with the log fields of their caller."""

    def __init__(self, owner: Owner, parts: Sequence[Callable[[], Any]]) -> None:
        self.owner, self.future = owner, Future[list[Any]]()
        self._parts, self._results, self._context, self._begun = deque(parts), list[Any](), copy_context(), False

    def advance(self, interrupted: Callable[[], bool]) -> bool:
        """Go on until all is done, or `interrupted` says so between two parts. Return whether all is done."""
        if not self._begun and not self.future.set_running_or_notify_cancel():
            return True
        self._begun = True
        try:
            while self._parts:
                self._results.append(self._context.run(self._parts.popleft()))
                if self._parts and interrupted():
                    return False
        except Exception as error:  # it is raised in the caller, which awaits the future
            self.future.set_exception(error)
        else:
            self.future.set_result(self._results)
        return True
