"""The end of a process: signals, and threads that it cannot work without."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

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
