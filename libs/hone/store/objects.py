"""The object store's interface: bytes under keys, in a directory or an S3 bucket."""

from collections.abc import Iterable, Iterator
from typing import Protocol
from urllib.parse import urlsplit


class ObjectMissing(KeyError):
    """There is no object under this key."""


class StoreAway(ConnectionError):
    """The object store does not answer; the same call may succeed later."""


class Objects(Protocol):
    """Every key is written once; an object is whole or absent.

    Methods block (asyncio callers use a thread) and raise StoreAway when there is no answer.
    """

    def put(self, key: str, data: bytes) -> None:
        """Store `data` durably under `key`."""

    def get(self, key: str) -> bytes:
        """Return the bytes under `key`. Raises ObjectMissing."""

    def list(self, prefix: str) -> Iterator[str]:
        """Yield every key that starts with `prefix`, sorted."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove these keys; absent ones are fine."""


def connect(url: str) -> Objects:
    """Return the store that `url` names: `file:///directory` or `s3://key:secret@host:port/bucket` (s3s for TLS)."""
    if urlsplit(url).scheme == "file":
        from hone.store.directory import Directory

        return Directory(urlsplit(url).path)
    from hone.store.s3 import Bucket

    return Bucket.connect(url)
