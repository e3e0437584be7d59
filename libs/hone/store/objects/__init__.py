"""The object store: a directory or an S3 bucket, as its URL says."""

from urllib.parse import urlsplit

from hone.store.objects.contract import (
    MOST_PARTS,
    PIECE_BYTES,
    SMALLEST_PART,
    Content,
    ObjectCorrupt,
    ObjectMissing,
    Objects,
    StoreAway,
    StoreFull,
    Unfinished,
)

__all__ = [
    "MOST_PARTS", "PIECE_BYTES", "SMALLEST_PART", "Content", "ObjectCorrupt", "ObjectMissing", "Objects", "StoreAway",
    "StoreFull", "Unfinished", "connect",
]


def connect(url: str) -> Objects:
    """Open the store of a URL: `file:///directory`, or `s3://key:secret@host:port/bucket` (s3s for TLS).

    Raises ValueError for another URL, StoreAway, and StoreRefused (a PermissionError) if a bucket's secret is wrong.
    """
    if urlsplit(url).scheme == "file":
        from hone.store.objects.directory import Directory

        return Directory(urlsplit(url).path)
    from hone.store.objects.s3 import Bucket  # its client takes 0.15 s to load

    return Bucket.connect(url)
