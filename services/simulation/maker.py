"""One thread that makes tasks or takes steps, so that the event loop stays free for other calls."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Made = TypeVar("Made")


class Maker:
    """Runs one function after another: some generators draw from process-wide randomness.

    What was started is finished even when its caller has gone, so that a repeated call finds it made. The thread is
    a daemon: a slow generator does not hold up the end of the process.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    async def made(self, make: Callable[[], Made]) -> Made:
        """Return what the function makes, or raise what it raises."""
        future: Future[Made] = Future()
        self._jobs.put((future, partial(copy_context().run, make)))  # so that log lines say whose it is
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            future, make = self._jobs.get()
            if future.set_running_or_notify_cancel():
                _settle(future, make)


def _settle(future: Future[Any], make: Callable[[], Any]) -> None:
    try:
        future.set_result(make())
    except Exception as error:  # it is the caller's, who awaits the future
        future.set_exception(error)
