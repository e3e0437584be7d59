"""The S3 server of the tests: Ceph's object gateway where it is installed, moto otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

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
    missing = [reason for reason in (ceph.absent(), moto.absent()) if reason]
    return "; ".join(missing) if len(missing) == 2 else None


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Run an S3 server with its files in `directory`."""
    if ceph.absent() is None:
        with ceph.running(directory, _KEY, _SECRET) as (endpoint, restart):
            yield Server(endpoint, _KEY, _SECRET, durable=True, restart=restart)
    else:
        with moto.running(directory) as (endpoint, access_key, secret_key):
            yield Server(endpoint, access_key, secret_key, durable=False)
