"""Waiting for new files in a folder, by the system's notifications where there are any, otherwise by looking again."""

import logging
import sys
import time
from pathlib import Path

if sys.platform == "linux":
    from inotify_simple import INotify, flags

_log = logging.getLogger(__name__)


class Arrivals:
    """Notices every file that is renamed into a folder from now on."""

    def __init__(self, folder: Path, poll_s: float) -> None:
        self._poll_s = poll_s
        self._watch = _watching(folder) if sys.platform == "linux" else None

    def wait(self, timeout_s: float) -> None:
        """Return when a file may have come since the last call, after `timeout_s` at the latest."""
        if self._watch is None:
            time.sleep(min(self._poll_s, timeout_s))
        else:
            self._watch.read(timeout=1000 * timeout_s)

    def close(self) -> None:
        """Stop watching the folder."""
        if self._watch is not None:
            self._watch.close()


def _watching(folder: Path) -> "INotify | None":
    """Return a watch of renames into a folder, or None if the system has no watches left."""
    try:
        watch = INotify()
        watch.add_watch(folder, flags.MOVED_TO)
    except OSError as error:
        _log.warning("the system does not report new files, so the folder is looked at again and again: %s", error)
        return None
    return watch
