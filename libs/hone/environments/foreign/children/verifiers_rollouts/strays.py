"""Processes that a program of others started in sessions of their own: they outlive its process group."""

import os
import signal
from contextlib import suppress
from pathlib import Path

MARK = "WORLD_FOLDER"
"""Variable by which all processes of a program are known, whatever session they are in."""
_ROUNDS = 5


def end_strays(mark: str = "", but: int = 0) -> None:
    """Kill all processes of a program by its mark (default: this program's), but one. Without /proc there are none."""
    wanted = f"{MARK}={mark or os.environ.get(MARK, '')}".encode()
    for _ in range(_ROUNDS):  # one may have started another meanwhile
        found = [pid for pid in _pids() if pid != but and wanted in _variables(pid)]
        if not found:
            return
        for pid in found:
            _kill(pid)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _variables(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
