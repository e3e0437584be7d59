"""The tasks that a run's datasets hold out of training."""

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from hone.environments.tasks import RowSplit
from hone.store.disk_arrays import Column, as_hex, contained, distinct, each, first_places
from services.learner.driver.datasets import DatasetRows


class HeldOut:
    """The tasks of a dataset that are held out: all of them, or those that the dataset's own split names.

    The rule of a split also holds out tasks of other datasets. With `named` it holds out the tasks of its own alone.
    """

    def __init__(self, rows: DatasetRows, whole: bool, named: bool = False) -> None:
        self._rows, self._ruled = rows, not (whole or named)
        self._split = RowSplit()
        if not whole:
            for one in each(rows.hashes):
                self._split.add(as_hex(one))
        if not self._ruled:
            self._tasks, _ = distinct(_copy(rows.hashes, lambda task: whole or self._split.holds_out(as_hex(task))))

    def among(self, hashes: NDArray[np.bytes_]) -> Iterator[bool]:
        """Yield for each content hash whether its task is held out."""
        if not self._ruled:
            for block in contained(hashes, self._tasks):
                yield from block.tolist()
        else:
            yield from (self._split.holds_out(as_hex(one)) for one in each(hashes))

    def places(self) -> NDArray[np.int64]:
        """Return the places of the rows that are asked: the first row of each task."""
        return first_places(self._rows.hashes, places_of(self._rows, [self], held_out=True))


def places_of(rows: DatasetRows, held: Sequence[HeldOut], held_out: bool) -> NDArray[np.int64]:
    """Return the places of the rows whose task is held out, by one of `held`, or of the others."""
    found = Column(np.int64)
    by_row = zip(*(one.among(rows.hashes) for one in held), strict=True) if held else repeat((), len(rows))
    for place, is_held in enumerate(by_row):
        if any(is_held) == held_out:
            found.add(place)
    return found.array()


def _copy(hashes: NDArray[np.bytes_], wanted: Callable[[bytes], bool]) -> NDArray[np.bytes_]:
    copied = Column(hashes.dtype)
    for one in each(hashes):
        if wanted(one):
            copied.add(one)
    return copied.array()
