"""The calls that a server works on. They learn it when the process ends because its memory is over.

One of them may be the cause. Their callers count how often that happens to the same work (docs/operations.md#memory).
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from hone.process.memory import MemoryEnd
from hone.rpc.border import Continuation, answers
from hone.rpc.errors import MemoryOver, NotReady

TELL_S = 1.0
"""Longest time for telling all callers. The memory may grow meanwhile."""
_SENT_S = 0.1
"""Time in which gRPC sends the last statuses."""
_OURS = "/hone."  # not health checks and reflection


class RunningCalls(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Ends every call with MemoryOver when `end` is called. Make it inside the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._end: MemoryEnd | None = None

    def end(self, end: MemoryEnd) -> None:
        """Tell the callers of all running calls why the process ends, within TELL_S. Any other thread may ask."""
        heard = threading.Event()
        self._loop.call_soon_threadsafe(self._break_off, end, heard)
        heard.wait(TELL_S)

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(_OURS):
            return handler
        if handler.response_streaming:
            return handler._replace(unary_stream=self._streaming(handler.unary_stream))
        return handler._replace(unary_unary=self._answering(handler.unary_unary))

    def _break_off(self, end: MemoryEnd, heard: threading.Event) -> None:
        self._end = end
        for task in self._tasks:
            task.cancel()
        self._loop.call_later(_SENT_S, heard.set)

    def _answering(self, behaviour: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(request: Any, context: Any) -> Any:
            with self._running():
                return await behaviour(request, context)

        return call

    def _streaming(self, behaviour: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        async def call(request: Any, context: Any) -> AsyncIterator[Any]:
            with self._running():
                async for response in answers(behaviour(request, context)):
                    yield response

        return call

    @contextmanager
    def _running(self) -> Iterator[None]:
        if self._end is not None:
            raise NotReady(f"{self._end.kind} ends and is started again")
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if self._end is None:
                raise
            raise MemoryOver(self._end) from None
        finally:
            self._tasks.discard(task)
