"""The interface of an object store: bytes under keys."""

import errno
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

PIECE_BYTES = 2**20
"""Bytes of a large object that are in memory at a time."""

Content = bytes | Path | Iterator[bytes]
"""The content of an object: bytes, or a file or pieces of bytes, which are never in memory as a whole."""


class ObjectMissing(KeyError):
    """There is no object under this key."""


class ObjectCorrupt(ValueError):
    """An object's bytes are not the ones that were stored."""


class StoreAway(ConnectionError):
    """The object store does not answer; the same call may succeed later."""


class StoreFull(StoreAway):
    """The object store has no room left; the same call may succeed once something was deleted."""


FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Numbers of the system's errors for a full disk and a used-up quota."""


def no_space(directory: Path) -> str:
    """Return the words for a full disk, the same wherever a person reads them."""
    return f"no space left in {directory}"


@contextmanager
def room_in(directory: Path) -> Iterator[None]:
    """Raise StoreFull, which passes, if a file cannot be written because the disk of this directory is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StoreFull(no_space(directory)) from error


SMALLEST_PART, MOST_PARTS = 5 * 2**20, 10_000
"""Limits of S3: bytes of every part but the last one, and parts of an object."""


@dataclass(frozen=True)
class Unfinished:
    """An object whose parts arrive one by one, in any order, from any process. No reader sees it.

    `id` is the store's name of this beginning. Every part but the last has `part_bytes` bytes.
    """

    key: str
    id: str
    part_bytes: int


class Objects(Protocol):
    """Objects under keys. Every key is written once, and readers see a whole object or none.

    Methods block, so asyncio callers use a thread. They raise StoreAway if the store does not answer.
    """

    def put(self, key: str, content: Content) -> None:
        """Store `content` durably under `key`. If the content cannot be read to its end, nothing is stored."""

    def get(self, key: str) -> bytes:
        """Return the bytes under `key`. Raises ObjectMissing, and ObjectCorrupt if the store finds other bytes."""

    def read(self, key: str) -> Iterator[bytes]:
        """Return the bytes under `key` in pieces. Raises ObjectMissing at once, ObjectCorrupt after the last."""

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        """Yield every key that starts with `prefix` and is greater than `after`, in the order of their text."""

    def list_sizes(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        """Yield the same keys, each with the number of its bytes; 0 if the object is deleted meanwhile."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete the objects under these keys. A key without an object is no error."""

    def read_range(self, key: str, begin: int, length: int) -> bytes:
        """Return `length` bytes from byte `begin` on, fewer at the object's end. Raises ObjectMissing."""

    def begin(self, key: str, part_bytes: int, sha256: str) -> Unfinished:
        """Begin an object that arrives in parts. `sha256` is the digest that it will have, for readers to check."""

    def put_part(self, unfinished: Unfinished, number: int, content: bytes) -> str:
        """Store part `number`, from 1, durably, again if it was there; return its tag, which `finish` asks for.

        Raises ObjectMissing if the beginning was finished or abandoned.
        """

    def finish(self, unfinished: Unfinished, tags: Sequence[str]) -> None:
        """Make the object visible; `tags` are those of all parts in order. Does nothing if it is visible already.

        The digest is not checked. Raises ObjectMissing, on some servers StoreAway, if the beginning was abandoned.
        """

    def abandon(self, unfinished: Unfinished) -> None:
        """Delete the parts. An unknown beginning is no error."""

    def free_bytes(self) -> int | None:
        """Return how many bytes the store still takes, or None if it does not say."""

    def discard_unfinished(self, age_s: float, spared: Collection[str] = ()) -> int:
        """Delete the parts of objects whose writing began over `age_s` seconds ago and never ended; return how many.

        `spared` are the ids of beginnings that stay.
        """


def pieces(content: Path | Iterator[bytes]) -> Iterator[bytes]:
    """Yield a file in pieces, or the pieces."""
    if not isinstance(content, Path):
        yield from content
        return
    with content.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
