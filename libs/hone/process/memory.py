"""The limit of a process's memory: a process that exceeds it says so and ends. Its supervisor starts another one.

The limit is that of the setting, or else a little less than that of the container, so that the process can say what it
worked on before the kernel kills it.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.25
"""Time between two looks. Between them a process may take more than its limit."""
EXIT_STATUS = 70
SHARE = 0.9
"""Of a container's memory, for its process."""
_STATUS = Path("/proc/self/status")
_COUNTED = ("RssAnon:", "RssShmem:")
"""Pages that the kernel cannot drop; those of files it reads again."""
_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The limit of the present control group: of version 2, and of version 1."""
_BOUNDLESS = 2**50
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MemoryEnd:
    """The end of a process whose memory is over."""

    kind: str  # of the process, such as simulation
    why: str  # a sentence about its memory


class MemoryLimit:
    """Ends this process, which is of some kind, when its memory exceeds a limit of so many MiB."""

    def __init__(self, kind: str, most_mb: int, source: str) -> None:
        """`source` names who set the limit."""
        self._kind, self._most_mb, self._source = kind, most_mb, source
        self.before_end: Callable[[MemoryEnd], object] = _log.debug
        """Is called in a thread of its own before the process ends."""

    def watch(self) -> None:
        """Look at the memory from now on, in a thread."""
        threading.Thread(target=self._look_forever, name="memory", daemon=True).start()

    def _look_forever(self) -> None:
        while (found := used_mb()) <= self._most_mb:
            time.sleep(LOOK_S)
        why = f"its memory was {found} MiB, expected at most {self._most_mb} ({self._source})"
        _log.critical("this process ends and is started again: %s", why)
        try:
            self.before_end(MemoryEnd(self._kind, why))
        except Exception:
            _log.exception("what this process worked on could not be recorded")
        finally:
            os._exit(EXIT_STATUS)


def limit(kind: str, chosen_mb: int | None, container_mb: int | None) -> MemoryLimit | None:
    """Return the limit of a process: as chosen, or else SHARE of its container's; None without both."""
    if chosen_mb is not None:
        return MemoryLimit(kind, chosen_mb, "HONE_MEMORY_MB")
    if container_mb is None:
        return None
    return MemoryLimit(kind, int(SHARE * container_mb), f"{SHARE:.0%} of its container's {container_mb} MiB")


def container_mb(files: Iterable[Path] = _CONTAINER) -> int | None:
    """Return the MiB that the container of this process may have; None where it is in none, or has no limit."""
    for file in files:
        text = file.read_text().strip() if file.exists() else ""
        if text.isdecimal() and int(text) < _BOUNDLESS:
            return int(text) >> 20
    return None


def used_mb() -> int:
    """Return the memory of this process in MiB, without pages of files; 0 where the system does not tell."""
    try:
        lines = _STATUS.read_text().splitlines()
    except FileNotFoundError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(_COUNTED)) >> 10
