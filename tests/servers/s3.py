"""The S3 server of the tests: Ceph's object gateway where it is installed, moto otherwise.

HONE_TEST_S3=s3://key:secret@host:port names another one. `pytest tests/integration/store/test_objects.py` then says
what that server does of what the store needs. Buckets of the tests (contract-…, hone-…) stay there.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from tests.servers import ceph, moto

_KEY, _SECRET = "hone", "for/tests+only@100%"  # real secrets hold such characters, so a URL has to quote them

@dataclass(frozen=True)
class Server:
    """A running S3 server and its one user. A `durable` server keeps objects on disk and checks digests."""

    endpoint: str
    access_key: str
    secret_key: str
    durable: bool
    restart: Callable[[], None] | None = None  # kills it and starts it again on the same files

    def url(self, bucket: str, *, secret: str | None = None) -> str:
        """Return the URL of a bucket for `HONE_OBJECTS_URL`, with another secret if one is given."""
        key, word = (quote(each, safe="") for each in (self.access_key, secret or self.secret_key))
        return f"s3://{key}:{word}@{self.endpoint}/{bucket}"


def absent() -> str | None:
    """Return why no S3 server can be started here, or None."""
    if _given():
        return None
    missing = [reason for reason in (ceph.absent(), moto.absent()) if reason]
    return "; ".join(missing) if len(missing) == 2 else None


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Run an S3 server with its files in `directory`, or use the given one."""
    if given := _given():
        yield given
    elif ceph.absent() is None:
        with ceph.running(directory, _KEY, _SECRET) as (endpoint, restart):
            yield Server(endpoint, _KEY, _SECRET, durable=True, restart=restart)
    else:
        with moto.running(directory) as (endpoint, access_key, secret_key):
            yield Server(endpoint, access_key, secret_key, durable=False)


def _given() -> Server | None:
    url = urlsplit(os.environ.get("HONE_TEST_S3", ""))
    if not url.hostname:
        return None
    return Server(url.netloc.rpartition("@")[2], unquote(url.username or ""), unquote(url.password or ""), durable=True)
