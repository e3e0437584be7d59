"""An asyncio loop in a thread of its own, for callers that are threads."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines for other threads until closed."""

    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start a coroutine and return its future."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, Result], timeout_s: float | None = None) -> Result:
        """Return what a coroutine returns. Raises TimeoutError after `timeout_s`."""
        return self.submit(work).result(timeout_s)

    def close(self) -> None:
        """End the loop; what still runs on it is dropped."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
