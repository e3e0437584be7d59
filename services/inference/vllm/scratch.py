"""Temporary directories of one process, for files that vLLM reads by their path.

A process locks its directories. The lock of a killed process is free, so the next process to start removes them.
"""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "hone-vllm-held-"
_YOUNG_S = 60.0
"""A directory younger than this may not be locked yet."""


class Scratch:
    """A new, empty directory, until `remove`."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        shutil.rmtree(self.path)
        os.close(self._lock)


def sweep() -> None:
    """Remove the directories of processes that have ended."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError, NotADirectoryError):  # another process removed it, or it is not ours
            if path.stat().st_uid == os.getuid() and time.time() - path.stat().st_mtime > _YOUNG_S:
                _remove_if_free(path)


def _remove_if_free(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # its process is running
        return
    else:
        shutil.rmtree(path)
    finally:
        os.close(lock)
