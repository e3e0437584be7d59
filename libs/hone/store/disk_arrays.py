"""Arrays in temporary files without a name: as long as a dataset has rows, and not in the process's memory."""

import tempfile
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**16
"""Values that are in memory at a time."""

HASH = np.dtype("S32")
"""A sha256. An item of such an array lacks the zeros at its end: see `as_hex`."""


def as_hex(value: bytes) -> str:
    """Return an item of an array of hashes as hexadecimal text."""
    return value.ljust(HASH.itemsize, b"\0").hex()


def empty(size: int, dtype: Any) -> NDArray[Any]:
    """Return an array of zeros in a file, which lasts as long as the array."""
    if not size:
        return np.empty(0, dtype)
    with tempfile.TemporaryFile(prefix="hone-rows-") as file:
        return np.memmap(file, dtype, "w+", shape=(size,)).view(np.ndarray)


class Text:
    """Bytes that are appended piece by piece and then read as an array."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="hone-rows-")  # noqa: SIM115 - lasts until the array is made
        weakref.finalize(self, self._file.close)  # also where the work with it is given up

    def write(self, piece: bytes) -> None:
        """Append a piece."""
        self._file.write(piece)

    def array(self) -> NDArray[Any]:
        """Return all bytes, and take no more."""
        with self._file:
            self._file.flush()
            if not self._file.tell():
                return np.empty(0, np.uint8)
            return np.memmap(self._file, np.uint8, "r+").view(np.ndarray)


class Column:
    """Values that are appended one by one and then read as an array."""

    def __init__(self, dtype: Any) -> None:
        self._dtype, self._begun = np.dtype(dtype), list[Any]()
        self._text, self._size = Text(), 0

    def __len__(self) -> int:
        return self._size

    def add(self, value: Any) -> None:
        """Append a value."""
        self._begun.append(value)
        self._size += 1
        if len(self._begun) == BLOCK:
            self._write()

    def array(self) -> NDArray[Any]:
        """Return all values, and take no more."""
        self._write()
        return self._text.array().view(self._dtype)

    def _write(self) -> None:
        self._text.write(np.array(self._begun, self._dtype).tobytes())
        self._begun.clear()


def permutation(generator: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Return what `generator.permutation(size)` returns."""
    order = empty(size, np.int64)
    for begin in range(0, size, BLOCK):
        order[begin:begin + BLOCK] = np.arange(begin, min(begin + BLOCK, size))
    generator.shuffle(order)
    return order


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sort `values` in place; return each different one, in order, and how often it is there."""
    values.sort()
    different, counts = Column(values.dtype), Column(np.int64)
    last, count = None, 0
    for value in each(values):
        if value != last and count:
            different.add(last)
            counts.add(count)
            count = 0
        last, count = value, count + 1
    if count:
        different.add(last)
        counts.add(count)
    return different.array(), counts.array()


def first_places(values: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places at which each different hash of `values[chosen]` comes first, in order. `chosen` ascends."""
    keyed = empty(len(chosen), np.dtype([("hash", HASH), ("place", ">i8")]))
    for begin in range(0, len(chosen), BLOCK):
        places = chosen[begin:begin + BLOCK]
        keyed["hash"][begin:begin + BLOCK], keyed["place"][begin:begin + BLOCK] = values[places], places
    keyed.view("S40").sort()  # by hash, and of equal hashes by place
    found, last = Column(np.int64), None
    for value, place in each(keyed):
        if value != last:
            found.add(place)
        last = value
    order = found.array()
    order.sort()
    return order


def contained(values: NDArray[Any], among: NDArray[Any]) -> Iterator[NDArray[np.bool_]]:
    """Yield for blocks of `values` which of them are in `among`, which is sorted."""
    for begin in range(0, len(values), BLOCK):
        block = values[begin:begin + BLOCK]
        places = np.minimum(np.searchsorted(among, block), max(0, len(among) - 1))
        yield among[places] == block if len(among) else np.zeros(len(block), bool)


def each(values: NDArray[Any]) -> Iterator[Any]:
    """Yield the values one by one."""
    for begin in range(0, len(values), BLOCK):
        yield from values[begin:begin + BLOCK].tolist()
