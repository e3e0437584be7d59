"""The engines' thread, and the end of the process when a step never ends."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from services.inference import __main__ as process
from services.inference.takeover import Action, ProbeRefused, Verdict
from services.inference.thread import EngineThread


class EndedSample(Exception):
    """Is raised instead of ending the process."""


def thread() -> EngineThread:
    started = EngineThread(asyncio.get_running_loop())
    started.start()
    return started


class Waiting:
    """An engine whose one step waits, as for a GPU, and computes nothing itself."""

    def __init__(self) -> None:
        self.version_id, self.has_work, self.computed_s = "v0", True, 0.0
        self.stepped = threading.Event()

    def offer(self, _version: str, settle: Callable[[Verdict], None]) -> None:
        settle(Verdict(self.version_id, Action.UPDATED, None, 0.0))

    def step(self) -> list[Any]:
        self.has_work = False
        time.sleep(0.2)
        self.stepped.set()
        return []


def test_a_step_that_waits_for_a_gpu_counts_as_computing() -> None:
    async def stepped() -> float:
        working, engine = thread(), Waiting()
        assert (await working.take_over(cast(Any, engine), "v0")).served
        assert await asyncio.to_thread(engine.stepped.wait, 30)
        working.stop()
        return engine.computed_s

    assert asyncio.run(stepped()) >= 0.2


def test_building_an_engine_for_its_first_version_does_not_count_as_computing() -> None:
    async def built() -> float:
        working, engine = thread(), Waiting()
        engine.version_id = ""
        await working.take_over(cast(Any, engine), "v0")
        assert await asyncio.to_thread(engine.stepped.wait, 30)
        working.stop()
        return engine.computed_s

    assert asyncio.run(built()) == 0.0


def leave(code: int) -> None:
    raise EndedSample(code)


def test_a_step_that_never_ends_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stuck() -> None:
        working, free = thread(), threading.Event()
        working.post(free.wait)
        try:
            await process.end_when_stuck(working, 0.1)
        finally:
            free.set()
            working.stop()

    monkeypatch.setattr("os._exit", leave)
    with pytest.raises(EndedSample, match=str(process.EXIT_STUCK)):
        asyncio.run(asyncio.wait_for(stuck(), 60))


def test_a_thread_that_waits_or_ends_its_jobs_in_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy() -> None:
        working, done = thread(), threading.Event()
        for _ in range(30):  # one after the other without a pause, each short
            working.post(lambda: threading.Event().wait(0.03))
        working.post(done.set)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.end_when_stuck(working, 0.5), 1.5)
        assert await asyncio.to_thread(done.wait, 60)
        async with asyncio.timeout(60):
            while working.busy_s:
                await asyncio.sleep(0.01)
        working.stop()

    monkeypatch.setattr("os._exit", leave)

    asyncio.run(busy())


def test_a_job_whose_engine_can_serve_nothing_raises_at_its_caller_and_ends_the_process(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(os, "kill", lambda *_: ended.set())

    def useless() -> None:
        raise ProbeRefused("v0 cannot be served again")

    async def asked() -> BaseException | None:
        working = thread()
        with pytest.raises(ProbeRefused):
            await working.call(useless)
        assert await asyncio.to_thread(ended.wait, 30)
        return working.failure

    assert isinstance(asyncio.run(asked()), ProbeRefused)
