"""The thread that computes, and what happens when it never comes back."""

import asyncio
import threading

import pytest

from services.inference import __main__ as process
from services.inference.thread import EngineThread


class Ended(Exception):
    """Stands for the end of the process."""


def thread() -> EngineThread:
    started = EngineThread(asyncio.get_running_loop(), lambda *_: None)
    started.start()
    return started


def test_a_step_that_never_ends_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(code: int) -> None:
        raise Ended(code)

    async def stuck() -> None:
        working, free = thread(), threading.Event()
        working.post(free.wait)
        try:
            await process.end_when_stuck(working, 0.1)
        finally:
            free.set()
            working.stop()

    monkeypatch.setattr("os._exit", leave)
    with pytest.raises(Ended, match=str(process.EXIT_STUCK)):
        asyncio.run(asyncio.wait_for(stuck(), 10))


def test_a_thread_that_waits_or_comes_back_in_time_is_left_alone() -> None:
    async def busy() -> None:
        working = thread()
        for _ in range(30):  # one after the other without a pause, each short
            working.post(lambda: threading.Event().wait(0.03))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.end_when_stuck(working, 0.3), 1.5)
        assert working.busy_s == 0
        working.stop()

    asyncio.run(busy())
