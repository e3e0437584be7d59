"""Threads in which calls of episodes elsewhere wait for the processes that hold their worlds."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Result = TypeVar("Result")
THREADS = 64
_log = logging.getLogger(__name__)


class Waiting:
    """Runs functions beside each other. One that has started runs to its end even if its caller is cancelled."""

    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="waiting")

    async def run_all(self, parts: Iterable[Callable[[], Result]]) -> list[Result]:
        """Return the results in order, or raise the first error once all have ended."""
        ended = await asyncio.gather(
            *(asyncio.wrap_future(self._started(part)) for part in parts), return_exceptions=True)
        for one in ended:
            if isinstance(one, BaseException):
                raise one
        return [one for one in ended if not isinstance(one, BaseException)]

    def later(self, work: Callable[[], None]) -> None:
        """Run a function that nobody waits for. Its error is logged."""
        self._started(work).add_done_callback(_reported)

    def _started(self, work: Callable[[], Result]) -> "Future[Result]":
        return self._pool.submit(copy_context().run, work)


def _reported(ended: "Future[None]") -> None:
    if not ended.cancelled() and (error := ended.exception()):
        _log.warning("what nobody waited for failed: %s", error)
