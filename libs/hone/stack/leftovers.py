"""The processes that a killed stack left behind: how they are found and ended."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

MARK = "HONE_STACK"
"""Environment variable of every process of a stack; its value is the state directory."""


def marked(state: Path) -> list[psutil.Process]:
    """Return the live processes of the stack in `state`, without this process and its ancestors."""
    return _others(lambda process: process.environ().get(MARK) == str(state))


def working_in(directory: Path) -> list[psutil.Process]:
    """Return the live processes whose working directory is `directory`. PostgreSQL overwrites its environment."""
    return _others(lambda process: process.cwd() == str(directory))


def end(processes: Iterable[psutil.Process], number: int = signal.SIGTERM, grace_s: float = 6.0) -> None:
    """Send these processes a signal to end, and kill those that still run after `grace_s` seconds."""
    asked = list(processes)
    _signal(asked, number)
    stubborn = _wait(asked, grace_s)
    _signal(stubborn, signal.SIGKILL)
    _wait(stubborn, 5.0)


def runs(process: psutil.Process, module: str) -> bool:
    """Return whether a process was started as `python -m module`."""
    try:
        return module in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def alive(process: psutil.Process) -> bool:
    """Return whether a process runs. A process that has ended and is not reaped yet does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _others(matches: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    return [process for process in psutil.process_iter() if process.pid not in own and _holds(matches, process)]


def _holds(matches: Callable[[psutil.Process], bool], process: psutil.Process) -> bool:
    try:
        return matches(process) and alive(process)
    except psutil.Error:  # it has ended, or belongs to another user and so not to this stack
        return False


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        if alive(process):
            process.send_signal(number)


def _wait(processes: list[psutil.Process], timeout_s: float) -> list[psutil.Process]:
    until = time.monotonic() + timeout_s
    left = [process for process in processes if alive(process)]
    while left and time.monotonic() < until:
        time.sleep(0.02)
        left = [process for process in left if alive(process)]
    return left
