"""Threads in which calls of episodes elsewhere wait for the processes that hold their worlds."""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, copy_context
from threading import Lock
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")
THREADS, OF_ONE = 256, 64
"""Threads in all, and those of one tenant: what hangs for it leaves others theirs."""
_log = logging.getLogger(__name__)


class _Part(NamedTuple):
    work: Callable[[], Any]
    context: Context
    ended: "Future[Any]"


class Waiting:
    """Runs functions beside each other, tenants in turns. One that has started runs to its end even if its caller is
    cancelled.
    """

    def __init__(self, threads: int = THREADS, of_one: int = OF_ONE) -> None:
        self._pool, self._free = ThreadPoolExecutor(threads, thread_name_prefix="waiting"), threads
        self._of_one, self._running = of_one, Counter[str]()
        self._parts = OrderedDict[str, deque[_Part]]()  # by tenant; the next one's turn is first
        self._lock = Lock()

    async def run_all(self, tenant: str, parts: Iterable[Callable[[], Result]]) -> list[Result]:
        """Return the results in order, or raise the first error once all have ended."""
        ended = await asyncio.gather(
            *(asyncio.wrap_future(self._started(tenant, part)) for part in parts), return_exceptions=True)
        for one in ended:
            if isinstance(one, BaseException):
                raise one
        return [one for one in ended if not isinstance(one, BaseException)]

    def later(self, work: Callable[[], None]) -> None:
        """Run a function that nobody waits for. Its error is logged."""
        self._started("", work).add_done_callback(_reported)

    def _started(self, tenant: str, work: Callable[[], Result]) -> "Future[Result]":
        part = _Part(work, copy_context(), Future[Result]())
        with self._lock:
            self._parts.setdefault(tenant, deque()).append(part)
            self._begin()
        return part.ended

    def _begin(self) -> None:
        """Give free threads to parts that wait."""
        while self._free and (tenant := next(
                (one for one in self._parts if self._running[one] < self._of_one), None)) is not None:
            part = self._parts[tenant].popleft()
            self._parts.move_to_end(tenant)
            if not self._parts[tenant]:
                del self._parts[tenant]
            self._free -= 1
            self._running[tenant] += 1
            self._pool.submit(self._work, tenant, part)

    def _work(self, tenant: str, part: _Part) -> None:
        try:
            if part.ended.set_running_or_notify_cancel():
                _run(part)
        finally:
            with self._lock:
                self._free += 1
                self._running[tenant] -= 1
                if not self._running[tenant]:
                    del self._running[tenant]
                self._begin()


def _run(part: _Part) -> None:
    try:
        result = part.context.run(part.work)
    except BaseException as error:  # it is raised in the caller, which awaits it
        part.ended.set_exception(error)
    else:
        part.ended.set_result(result)


def _reported(ended: "Future[None]") -> None:
    if not ended.cancelled() and (error := ended.exception()):
        _log.warning("what nobody waited for failed: %s", error)
