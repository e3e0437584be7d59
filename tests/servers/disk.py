"""A small file system of its own, which a test may fill."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(size: int) -> Iterator[Path]:
    """Yield a file system of `size` bytes, whose path the database's user can enter. Skips where none is mounted."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system: a full disk was not tried")
    place = Path(tempfile.mkdtemp(prefix="hone-small-disk-", dir="/var/tmp"))
    place.chmod(0o755)
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True,
                           text=True, check=False)
    if mount.returncode:
        place.rmdir()
        pytest.skip(f"this machine mounts no file system: {mount.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
        place.rmdir()


def fill(disk: Path, left: int) -> None:
    """Take all of the disk but `left` bytes, in its file `other`, whatever else writes meanwhile."""
    with (disk / "other").open("ab") as file:
        while (free := os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize) > left:
            try:
                file.write(bytes(min(2**20, max(1, free - left))))
                file.flush()
            except OSError:
                break


def make_room(disk: Path) -> None:
    """Give back what `fill` took."""
    (disk / "other").unlink()
