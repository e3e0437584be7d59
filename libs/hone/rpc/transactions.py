"""A database transaction inside a call: while the database is away, the caller hears so and may try again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import OperationalError

from hone.rpc.errors import NotReady
from hone.store.database import AsyncDatabase, AsyncTransaction


@asynccontextmanager
async def transaction(database: AsyncDatabase) -> AsyncIterator[AsyncTransaction]:
    """Open a transaction. Raises NotReady with the reason instead of psycopg.OperationalError."""
    try:
        async with database.transaction() as opened:
            yield opened
    except OperationalError as error:
        raise NotReady(f"the database is away: {error}") from error
