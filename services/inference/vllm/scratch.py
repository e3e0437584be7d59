"""A directory of one process, for files that vLLM reads by their path.

A lock says whose it is: that of a process that was killed is free, and the next one to begin clears it away.
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
"""One just made may not be locked yet."""


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
    """Remove the directories of processes that are no more."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError, NotADirectoryError):  # another sweeps too, or it is none of ours
            if path.stat().st_uid == os.getuid() and time.time() - path.stat().st_mtime > _YOUNG_S:
                _remove_if_free(path)


def _remove_if_free(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # its process lives
        return
    else:
        shutil.rmtree(path)
    finally:
        os.close(lock)
