"""An outage of the database during a gRPC call, reported to the caller, who may try again."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import OperationalError

from hone.rpc.errors import NotReady


@contextmanager
def reported() -> Iterator[None]:
    """Raise NotReady, with the reason, if the body raises psycopg.OperationalError."""
    try:
        yield
    except OperationalError as error:
        raise NotReady(f"the database is away: {error}") from error
