"""The database inside a call: while it is away, the caller hears so and may try again."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import OperationalError

from hone.rpc.errors import NotReady


@contextmanager
def told() -> Iterator[None]:
    """Raise NotReady with the reason instead of psycopg.OperationalError."""
    try:
        yield
    except OperationalError as error:
        raise NotReady(f"the database is away: {error}") from error
