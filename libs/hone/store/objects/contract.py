"""The interface of an object store: bytes under keys."""

from collections.abc import Iterable, Iterator
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

    def delete(self, keys: Iterable[str]) -> None:
        """Delete the objects under these keys. A key without an object is no error."""

    def discard_unfinished(self, age_s: float) -> int:
        """Delete the parts of objects whose writing began over `age_s` seconds ago and never ended; return how many."""


def pieces(content: Path | Iterator[bytes]) -> Iterator[bytes]:
    """Yield a file in pieces, or the pieces."""
    if not isinstance(content, Path):
        yield from content
        return
    with content.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
