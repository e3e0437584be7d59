"""The lock of a state directory: one process at a time runs its stack."""

import fcntl
import os
from pathlib import Path


class StackRunning(Exception):
    """Another process runs the stack of this state directory."""


class Lock:
    """The system releases it when this process ends, however it ends. The file holds the pid of the holder."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises StackRunning, which names the holder."""
        file = os.open(self._state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = os.read(file, 32).decode().strip()
            os.close(file)
            raise StackRunning(f"process {found} already runs the stack in {self._state} (hone down ends it)") from None
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        self._file = file

    @property
    def held(self) -> bool:
        return self._file is not None

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def holder(state: Path) -> int | None:
    """Return the pid of the process that runs the stack in `state`, or None."""
    path = state / "lock"
    if not path.exists():
        return None
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(file.read() or 0) or None
    return None
