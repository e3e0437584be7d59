"""The end of a process: by a signal, with its parent, or with a thread that it cannot work without."""

import asyncio
import atexit
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_AGAIN_S = 2.0
"""Time that a cancelled task has to tidy up before it is cancelled again. A supervisor waits longer before it kills."""
_PR_SET_PDEATHSIG = 1
_log = logging.getLogger(__name__)


def on_stop_signal(stop: Callable[[], object]) -> None:
    """Call `stop` at SIGTERM and at SIGINT."""
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: stop())


async def stop_signal() -> None:
    """Return at SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


async def cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and again those that have not ended after a while. Return when all have ended, however they did.

    A cancellation can be lost: that of Python 3.11's wait_for is, if what it waits for ends at the same moment, and
    psycopg's pool waits with it. A task that works for ever would then be waited for, for ever.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        done, left = await asyncio.wait(left, timeout=_AGAIN_S)
        for task in done:
            _ = task.cancelled() or task.exception()  # else asyncio would log an error as never seen


def die_with_parent() -> None:
    """Have Linux kill this process when its parent ends; other systems let it live on."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)


def vital_thread(name: str, work: Callable[[], object]) -> threading.Thread:
    """Return a thread that does `work`. If it raises, the whole process ends, so that its supervisor starts another."""
    def run() -> None:
        try:
            work()
        except BaseException:
            _log.exception("%s has failed; this process ends", name)
            os._exit(1)

    return threading.Thread(target=run, name=name)


def skip_tidying() -> None:
    """Let this process end without the interpreter's cleanup, which takes seconds in some libraries.

    Functions that are registered with atexit after this call are still called.
    """
    atexit.register(_exit)


def _exit() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(hasattr(sys, "last_value")))  # it is set if an error ended the program
