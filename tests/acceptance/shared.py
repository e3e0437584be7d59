"""Files that take long to make, and are the same for every test process: one makes them, the others wait for it."""

import fcntl
from collections.abc import Callable
from pathlib import Path


def once(path: Path, make: Callable[[Path], object]) -> Path:
    """Return `path`. If there is none, `make` makes it under another name, so that a failed attempt leaves none."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            part = path.with_name(f"{path.name}.part")
            make(part)
            part.rename(path)
    return path
