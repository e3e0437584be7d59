"""Functions run one after another in a thread, off the event loop."""

import asyncio
import threading
from functools import partial

import pytest

from hone.telemetry import logs
from services.simulation.service import SerialThread


async def test_results_and_errors_reach_their_callers() -> None:
    thread = SerialThread("tasks")
    assert await asyncio.gather(*(thread.run(partial(pow, number, 2)) for number in range(5))) == [0, 1, 4, 9, 16]
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 // 0)
    assert await thread.run(lambda: "on") == "on"


async def test_one_thread_makes_all_and_ends_with_the_process() -> None:
    thread = SerialThread("tasks")
    threads = set(await asyncio.gather(*(thread.run(threading.current_thread) for _ in range(20))))
    assert len(threads) == 1
    assert threads.pop().daemon


async def test_a_started_function_is_finished_and_a_cancelled_one_is_left_out() -> None:
    thread, made = SerialThread("tasks"), []
    started, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        started.set()
        go_on.wait(60)
        made.append("slow")

    calls = [asyncio.create_task(thread.run(slow)), asyncio.create_task(thread.run(lambda: made.append("never")))]
    await asyncio.to_thread(started.wait, 10)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    go_on.set()
    await thread.run(lambda: made.append("last"))
    assert made == ["slow", "last"]


async def test_log_lines_of_a_function_have_its_callers_fields() -> None:
    thread = SerialThread("tasks")
    with logs.about(run_id="run_1"):
        assert await thread.run(logs.subject) == {"run_id": "run_1"}
    assert await thread.run(logs.subject) == {}
