"""Tasks are made one after another, off the event loop."""

import asyncio
import threading
from functools import partial

import pytest

from hone.telemetry import logs
from services.simulation.maker import Maker


async def test_results_and_errors_reach_their_callers() -> None:
    maker = Maker("tasks")
    assert await asyncio.gather(*(maker.made(partial(pow, number, 2)) for number in range(5))) == [0, 1, 4, 9, 16]
    with pytest.raises(ZeroDivisionError):
        await maker.made(lambda: 1 // 0)
    assert await maker.made(lambda: "on") == "on"


async def test_one_thread_makes_all_and_ends_with_the_process() -> None:
    maker = Maker("tasks")
    threads = set(await asyncio.gather(*(maker.made(threading.current_thread) for _ in range(20))))
    assert len(threads) == 1
    assert threads.pop().daemon


async def test_what_was_started_is_finished_and_what_was_not_is_left_out() -> None:
    maker, made = Maker("tasks"), []
    started, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        started.set()
        go_on.wait(60)
        made.append("slow")

    calls = [asyncio.create_task(maker.made(slow)), asyncio.create_task(maker.made(lambda: made.append("never")))]
    await asyncio.to_thread(started.wait, 10)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    go_on.set()
    await maker.made(lambda: made.append("last"))
    assert made == ["slow", "last"]


async def test_what_is_made_is_about_what_its_caller_is() -> None:
    maker = Maker("tasks")
    with logs.about(run_id="run_1"):
        assert await maker.made(logs.subject) == {"run_id": "run_1"}
    assert await maker.made(logs.subject) == {}
