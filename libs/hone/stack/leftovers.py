"""Processes that a killed stack left behind: finding them, ending them."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

MARK = "HONE_STACK"
"""Environment variable that every process of a stack carries; its value is the state directory."""


def marked(state: Path) -> list[psutil.Process]:
    """Return the live processes of the stack in `state`, without this process and its ancestors."""
    return _others(lambda process: process.environ().get(MARK) == str(state))


def working_in(directory: Path) -> list[psutil.Process]:
    """Return the live processes that work in `directory`: PostgreSQL's, which overwrite their environment."""
    return _others(lambda process: process.cwd() == str(directory))


def end(processes: Iterable[psutil.Process], number: int = signal.SIGTERM, grace_s: float = 6.0) -> None:
    """Ask these processes to end and kill what is still there after `grace_s` seconds."""
    asked = list(processes)
    _signal(asked, number)
    stubborn = _wait(asked, grace_s)
    _signal(stubborn, signal.SIGKILL)
    _wait(stubborn, 5.0)


def runs(process: psutil.Process, module: str) -> bool:
    """Tell whether a process was started as `python -m module`."""
    try:
        return module in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def alive(process: psutil.Process) -> bool:
    """Tell whether a process runs; one that ended and was not reaped yet does not."""
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
    except psutil.Error:  # it ended meanwhile, or is another user's and so not of this stack
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
