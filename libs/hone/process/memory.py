"""The limit of a process's memory: a process that exceeds it says so and ends. Its supervisor starts another one."""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

LOOK_S = 0.25
"""Time between two looks. Between them a process may take more than its limit."""
EXIT_STATUS = 70
_STATM = Path("/proc/self/statm")
_log = logging.getLogger(__name__)


class MemoryLimit:
    """Ends this process when its memory exceeds a limit."""

    def __init__(self, most_mb: int) -> None:
        self._most_mb = most_mb
        self.before_end: Callable[[str], object] = _log.debug
        """Is called with the reason, in a thread of its own, before the process ends."""

    def watch(self) -> None:
        """Look at the memory from now on, in a thread."""
        threading.Thread(target=self._look_forever, name="memory", daemon=True).start()

    def _look_forever(self) -> None:
        while (found := used_mb()) <= self._most_mb:
            time.sleep(LOOK_S)
        reason = f"its memory was {found} MiB, expected at most {self._most_mb} (HONE_MEMORY_MB)"
        _log.critical("this process ends and is started again: %s", reason)
        try:
            self.before_end(reason)
        except Exception:
            _log.exception("what this process worked on could not be recorded")
        finally:
            os._exit(EXIT_STATUS)


def used_mb() -> int:
    """Return the memory of this process in MiB; 0 where the system does not tell."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except FileNotFoundError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20
