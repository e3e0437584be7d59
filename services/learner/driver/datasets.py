"""A dataset's rows that are tasks, in a temporary file: a run holds a few of them in memory, however many there are."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hone.environments.rows import Sieve, lines
from hone.store.disk_arrays import HASH, Column, Text
from hone.store.manifests import DigestMismatch
from hone.store.objects import Objects
from services.learner.driver.watch import Watch

MOST_BYTES = 2**30
"""Bytes of the rows that a step or an evaluation may ask for together."""


class TooManyBytes(ValueError):
    """The rows of a step, or of an evaluation, are too large to be requested together."""


class DatasetRows:
    """The rows that an environment accepts, in the order of the dataset. A row's place counts them from 0."""

    def __init__(
        self, name: str, objects: Objects, entry: Mapping[str, Any], sieve: Sieve, watch: Watch,
    ) -> None:
        """Read the file that a manifest's `entry` names, and put the rows that are no task aside in `sieve`.

        Raises ObjectMissing, ObjectCorrupt, DigestMismatch, Interrupted, LeaseLost.
        """
        self.name = name
        begins, sizes, numbers, hashes = Column(np.int64), Column(np.int64), Column(np.int64), Column(HASH)
        texts, digest, begin = Text(), hashlib.sha256(), 0
        watch.begin()
        for number, line in enumerate(filter(bytes.strip, lines(_hashed(objects, entry["key"], digest))), 1):
            watch.look(f"the driver, which reads dataset {name!r}: {number - 1} rows so far")
            content_hash = sieve.content_hash(json.loads(line))
            if content_hash is None:
                continue
            texts.write(line)
            for column, value in ((begins, begin), (sizes, len(line)), (numbers, number),
                                  (hashes, bytes.fromhex(content_hash))):
                column.add(value)
            begin += len(line)
        if digest.hexdigest() != entry["sha256"]:
            raise DigestMismatch(f"object {entry['key']}: sha256 differs from its manifest")
        self._texts, self._begins, self._sizes = texts.array(), begins.array(), sizes.array()
        self.numbers: NDArray[np.int64] = numbers.array()
        self.hashes: NDArray[np.bytes_] = hashes.array()

    def __len__(self) -> int:
        return len(self.hashes)

    def row(self, place: int) -> dict[str, Any]:
        """Return the row at a place."""
        begin = self._begins[place]
        row: dict[str, Any] = json.loads(self._texts[begin:begin + self._sizes[place]].tobytes())
        return row

    def some(self, places: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return the rows at some places, in their order. Raises TooManyBytes."""
        total = int(self._sizes[places].sum())
        if total > MOST_BYTES:
            raise TooManyBytes(
                f"dataset {self.name!r}: {len(places)} rows that are asked together have {total} bytes; expected at "
                f"most {MOST_BYTES}: lower batch.prompts or eval.prompts, or shorten the rows")
        return [self.row(int(place)) for place in places]


def _hashed(objects: Objects, key: str, digest: Any) -> Iterator[bytes]:
    for piece in objects.read(key):
        digest.update(piece)
        yield piece
