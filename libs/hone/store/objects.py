"""The object store's interface: bytes under keys, in a directory or an S3 bucket."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

PIECE_BYTES = 2**20
"""What is held of a large object at a time."""

Content = bytes | Path | Iterator[bytes]
"""What can be stored: bytes, or a file and pieces of bytes that are never held whole."""


class ObjectMissing(KeyError):
    """There is no object under this key."""


class ObjectCorrupt(ValueError):
    """An object's bytes are not the ones that were stored."""


class StoreAway(ConnectionError):
    """The object store does not answer; the same call may succeed later."""


class Objects(Protocol):
    """Every key is written once; an object is whole or absent.

    Methods block (asyncio callers use a thread) and raise StoreAway when there is no answer.
    """

    def put(self, key: str, content: Content) -> None:
        """Store `content` durably under `key`. If a file or a piece cannot be read, nothing is stored."""

    def get(self, key: str) -> bytes:
        """Return the bytes under `key`. Raises ObjectMissing, and ObjectCorrupt where the store notices that."""

    def read(self, key: str) -> Iterator[bytes]:
        """Return the bytes under `key` in pieces. Raises ObjectMissing at once, ObjectCorrupt after the last."""

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        """Yield every key that starts with `prefix` and is greater than `after`, in order, as far as it is asked."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove these keys; absent ones are fine."""

    def discard_unfinished(self, age_s: float) -> int:
        """Remove what writers who began so long ago and were killed left of objects; return of how many."""


def pieces(content: Path | Iterator[bytes]) -> Iterator[bytes]:
    """Yield a file in pieces, or the pieces."""
    if not isinstance(content, Path):
        yield from content
        return
    with content.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def connect(url: str) -> Objects:
    """Return the store that `url` names: `file:///directory` or `s3://key:secret@host:port/bucket` (s3s for TLS)."""
    if urlsplit(url).scheme == "file":
        from hone.store.directory import Directory

        return Directory(urlsplit(url).path)
    from hone.store.s3 import Bucket

    return Bucket.connect(url)
