"""The tasks that a run's datasets hold out of training."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hone.environments.tasks import RowSplit
from hone.store.disk_arrays import BLOCK, Column, as_hex, contained, distinct, each, first_places
from services.learner.driver.datasets import DatasetRows


class HeldOut:
    """The tasks of a dataset that are held out: all of them, or those that the dataset's own split names."""

    def __init__(self, rows: DatasetRows, whole: bool) -> None:
        self._rows, self._whole = rows, whole
        self._split = RowSplit()
        if whole:
            self._tasks, _ = distinct(_copy(rows.hashes))
        else:
            for one in each(rows.hashes):
                self._split.add(as_hex(one))

    def among(self, hashes: NDArray[np.bytes_]) -> Iterator[bool]:
        """Yield for each content hash whether its task is held out."""
        if self._whole:
            for block in contained(hashes, self._tasks):
                yield from block.tolist()
        else:
            yield from (self._split.holds_out(as_hex(one)) for one in each(hashes))

    def places(self) -> NDArray[np.int64]:
        """Return the places of the rows that are asked: the first row of each task."""
        return first_places(self._rows.hashes, places_of(self._rows, self, held_out=True))


def places_of(rows: DatasetRows, held: HeldOut | None, held_out: bool) -> NDArray[np.int64]:
    """Return the places of the rows whose task is held out, or of the others."""
    found = Column(np.int64)
    for place, is_held in enumerate(held.among(rows.hashes) if held else (False for _ in range(len(rows)))):
        if is_held == held_out:
            found.add(place)
    return found.array()


def _copy(hashes: NDArray[np.bytes_]) -> NDArray[np.bytes_]:
    copied = Column(hashes.dtype)
    for begin in range(0, len(hashes), BLOCK):
        for one in hashes[begin:begin + BLOCK].tolist():
            copied.add(one)
    return copied.array()
