"""Waiting for files to appear in a folder: told by the system where it can tell, looking now and then elsewhere."""

import logging
import sys
import time
from pathlib import Path

if sys.platform == "linux":
    from inotify_simple import INotify, flags

_log = logging.getLogger(__name__)


class Arrivals:
    """Hears of every file that is renamed into a folder from now on."""

    def __init__(self, folder: Path, poll_s: float) -> None:
        self._poll_s = poll_s
        self._heard = _listening(folder) if sys.platform == "linux" else None

    def wait(self, timeout_s: float) -> None:
        """Return when something may have come since the last call, at the latest after `timeout_s`."""
        if self._heard is None:
            time.sleep(min(self._poll_s, timeout_s))
        else:
            self._heard.read(timeout=1000 * timeout_s)

    def close(self) -> None:
        """Hear of nothing more."""
        if self._heard is not None:
            self._heard.close()


def _listening(folder: Path) -> "INotify | None":
    """Return what tells of renames into a folder; None where the system's watches are used up."""
    try:
        heard = INotify()
        heard.add_watch(folder, flags.MOVED_TO)
    except OSError as error:
        _log.warning("not told of new files, so they are looked for: %s", error)
        return None
    return heard
