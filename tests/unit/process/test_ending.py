"""The end of a process: signals, and threads that it cannot work without."""

import asyncio
import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from hone.process import ending
from hone.process.ending import stop_signal

DYING = """
from hone.process.ending import vital_thread
thread = vital_thread("the follower", lambda: 1 / 0)
thread.start()
thread.join()
print("still here")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_signals_ask_a_process_to_stop(number: int) -> None:
    async def waited() -> None:
        asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), number)
        async with asyncio.timeout(10):
            await stop_signal()

    asyncio.run(waited())


def test_a_vital_thread_that_fails_ends_its_process() -> None:
    ended = subprocess.run([sys.executable, "-c", DYING], check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "still here" not in ended.stdout


def test_a_task_whose_first_cancellation_is_lost_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under Python 3.11's wait_for, when what it waits for ends at the same moment."""
    monkeypatch.setattr(ending, "_AGAIN_S", 0.01)
    lost = list[str]()

    async def loses_one() -> None:
        while True:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append("one")

    async def fails() -> None:
        raise ValueError("before it is cancelled")

    async def main() -> list[bool]:
        tasks = [asyncio.create_task(work()) for work in (loses_one, fails, partial(asyncio.sleep, 30))]
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await ending.cancelled(tasks)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(main()) == [True, False, True]
    assert lost == ["one"]
