"""The disks of this machine that a process writes to, and what is left on them."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from hone.process import scratch
from hone.store.objects.contract import no_space
from hone.store.objects.directory import RESERVE_BYTES
from hone.telemetry import metrics

_GIB = 2**30


class Written(Protocol):
    """The settings that are read here."""

    @property
    def objects_url(self) -> str: ...
    @property
    def broker_url(self) -> str: ...
    @property
    def state(self) -> Path | None: ...


@dataclass(frozen=True)
class Disk:
    """The file system of a directory, and the bytes that are left for it."""

    directory: Path
    free_bytes: int

    @property
    def full(self) -> bool:
        """Whether so little is left that objects are not stored any more: the rest is for the database."""
        return self.free_bytes < RESERVE_BYTES

    def shortage(self, low_bytes: float) -> str | None:
        """Return the fault of a disk, for a person to read: it is full, or less than `low_bytes` are left."""
        if self.full:
            return no_space(self.directory)
        return f"only {self.left} left in {self.directory}" if self.free_bytes < low_bytes else None

    @property
    def left(self) -> str:
        """Free space, as text."""
        return f"{self.free_bytes / _GIB:.1f} GiB"


def own_places(chosen: Written) -> Iterator[Path]:
    """Yield the real paths of the stack's directories on this machine: its state, its objects, its messages."""
    if chosen.state is not None:
        yield Path(os.path.realpath(chosen.state))
    for url in (chosen.objects_url, chosen.broker_url):
        parts = urlsplit(url)
        if parts.scheme in {"file", "filesystem"} and parts.path:
            yield Path(os.path.realpath(parts.path))


def written(chosen: Written) -> list[Path]:
    """Return the directories that a process with these settings writes to: the stack's, and that of temporary files."""
    temporary = Path(tempfile.gettempdir())
    return [*own_places(chosen), temporary.parent if temporary.name.startswith(scratch.PREFIX) else temporary]


def look(directories: Iterable[Path]) -> list[Disk]:
    """Return the disks of these directories, each disk once, with its first directory."""
    disks = dict[int, Disk]()
    for directory in directories:
        place = next(part for part in (directory, *directory.parents) if part.exists())
        disks.setdefault(place.stat().st_dev, Disk(place, shutil.disk_usage(place).free))
    return list(disks.values())


def measure(directories: Iterable[Path]) -> None:
    """Have the metrics of this process tell what is left on the disks of these directories."""
    for disk in look(directories):
        metrics.DISK_FREE.labels(str(disk.directory)).set_function(partial(_free_bytes, disk.directory))


def _free_bytes(directory: Path) -> float:
    return float(shutil.disk_usage(directory).free)
