"""The directory for the temporary files of one process: bodies on their way, exports, files that vLLM reads by path.

A process holds a lock of its directory. That of a killed process is free, so the next process to start removes it.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "hone-scratch-"
_WAIT_S = 5.0

_locks: list[int] = []  # held until this process ends


def begin(state: Path | None) -> Path:
    """Make a directory for this process and its children, and remove those of processes that have ended.

    It is below the state directory, or where the system has its temporary files. Every module that makes a temporary
    file uses it from now on. Raises OSError.
    """
    base = Path(tempfile.gettempdir()) if state is None else state / "scratch"
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(base) as alone:  # nobody sweeps before the new directory is locked too
        if alone:
            sweep(base)
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        _locks.append(_lock(directory))
    tempfile.tempdir = os.environ["TMPDIR"] = str(directory)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def begin_before_exec(state: Path | None) -> Path:
    """Begin as `begin` does, for the program that is about to replace this one: it holds the lock as long as it lives.

    Its children find the directory in TMPDIR. Raises OSError.
    """
    directory = begin(state)
    os.set_inheritable(_locks[-1], True)
    return directory


def sweep(base: Path) -> int:
    """Remove the directories of processes that have ended; return how many."""
    removed = 0
    for path in base.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError, NotADirectoryError, BlockingIOError):  # removed, not ours, or in use
            if path.stat().st_uid == os.getuid():
                _remove(path)
                removed += 1
    return removed


def _remove(directory: Path) -> None:
    lock = _lock(directory)
    try:
        shutil.rmtree(directory)
    finally:
        os.close(lock)


def _lock(directory: Path) -> int:
    """Return the lock of a directory. Raises BlockingIOError if a process holds it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    return handle


@contextmanager
def _alone(base: Path) -> Iterator[bool]:
    """Lock a directory, and give whether that was possible in time: a process that was frozen may hold the lock."""
    until = time.monotonic() + _WAIT_S
    while True:
        with suppress(BlockingIOError):
            handle = _lock(base)
            break
        if time.monotonic() > until:
            yield False
            return
        time.sleep(0.02)
    try:
        yield True
    finally:
        os.close(handle)
