"""PostgreSQL behind named statements, for synchronous and for asynchronous callers."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from hone.store.sql import statement

Row = DictRow

OPTIONS = " ".join(f"-c {setting}" for setting in (
    "idle_in_transaction_session_timeout=3000", "enable_seqscan=off", "enable_bitmapscan=off", "jit=off"))
"""The server's settings for every connection.

Idle transactions end after 3 s: a process that is frozen inside a transaction would hold the locks of its rows.

Every statement looks for few rows by an index, so sequential scans and bitmap scans are off. Tables grow by thousands
of rows a minute, and a plan for the old size would read a whole table, or all the rows of a run. A bitmap scan also
visits dead rows every time, where an index scan marks them for the next one.

Compilation is off: the server takes a scan that is switched off and still needed for very expensive, and would spend
tens of milliseconds on compiling a statement that takes one.
"""

_KWARGS = {"row_factory": dict_row, "options": OPTIONS, "autocommit": True}

PROVEN_S = 1.0
"""Seconds within which a connection that has been used is used again. After that it is tried first."""


class _Served(Connection[Row]):
    """A connection with the time of its last use."""

    served_at = 0.0


class _AsyncServed(AsyncConnection[Row]):
    """A connection with the time of its last use."""

    served_at = 0.0


def _check(connection: _Served) -> None:
    if time.monotonic() - connection.served_at > PROVEN_S:
        ConnectionPool.check_connection(connection)


async def _check_async(connection: _AsyncServed) -> None:
    if time.monotonic() - connection.served_at > PROVEN_S:
        await AsyncConnectionPool.check_connection(connection)


@contextmanager
def _as_lost_connection() -> Iterator[None]:
    """Raise OperationalError, as for every lost connection, if the server ended an idle transaction."""
    try:
        yield
    except IdleInTransactionSessionTimeout as late:
        raise OperationalError(str(late)) from late


class Statements:
    """A connection that runs statements by their names."""

    def __init__(self, connection: Connection[Row]) -> None:
        self._connection = connection

    def all(self, name: str, /, **params: Any) -> list[Row]:
        """Return every row of `table.name`."""
        return self._connection.execute(statement(name), params).fetchall()

    def one(self, name: str, /, **params: Any) -> Row | None:
        """Return the first row of `table.name`, or None."""
        return self._connection.execute(statement(name), params).fetchone()

    def run(self, name: str, /, **params: Any) -> int:
        """Run `table.name` and return the number of rows it touched."""
        return self._connection.execute(statement(name), params).rowcount


class Transaction(Statements):
    """One open transaction."""


class Database:
    """A pool of connections. The statements of one `transaction()` are committed together or not at all.

    A single statement needs no transaction: `all`, `one` and `run` send it alone, in one exchange instead of three.
    Every call raises psycopg.OperationalError (PoolTimeout is one) while the server is away.
    """

    def __init__(self, url: str, size: int = 4) -> None:
        self._pool: ConnectionPool[_Served] = ConnectionPool(
            url, min_size=1, max_size=size, open=True, check=_check,
            connection_class=_Served, kwargs=_KWARGS,
            timeout=10, reconnect_timeout=5,
        )

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction. It is committed at the end, or rolled back if the body raises."""
        with self._connection() as connection, connection.transaction():
            yield Transaction(connection)

    def all(self, name: str, /, **params: Any) -> list[Row]:
        """Return every row of `table.name`."""
        with self._connection() as connection:
            return Statements(connection).all(name, **params)

    def one(self, name: str, /, **params: Any) -> Row | None:
        """Return the first row of `table.name`, or None."""
        with self._connection() as connection:
            return Statements(connection).one(name, **params)

    def run(self, name: str, /, **params: Any) -> int:
        """Run `table.name` and return the number of rows it touched."""
        with self._connection() as connection:
            return Statements(connection).run(name, **params)

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _connection(self) -> Iterator[Connection[Row]]:
        with _as_lost_connection(), self._pool.connection() as connection:
            yield connection
            connection.served_at = time.monotonic()


class AsyncStatements:
    """A connection that runs statements by their names."""

    def __init__(self, connection: AsyncConnection[Row]) -> None:
        self._connection = connection

    async def all(self, name: str, /, **params: Any) -> list[Row]:
        """Return every row of `table.name`."""
        return await (await self._connection.execute(statement(name), params)).fetchall()

    async def one(self, name: str, /, **params: Any) -> Row | None:
        """Return the first row of `table.name`, or None."""
        return await (await self._connection.execute(statement(name), params)).fetchone()

    async def run(self, name: str, /, **params: Any) -> int:
        """Run `table.name` and return the number of rows it touched."""
        return (await self._connection.execute(statement(name), params)).rowcount


class AsyncTransaction(AsyncStatements):
    """One open transaction."""


class AsyncDatabase:
    """The same pool for asyncio. Open it inside a running loop with `await open()`."""

    def __init__(self, url: str, size: int = 8) -> None:
        self._pool: AsyncConnectionPool[_AsyncServed] = AsyncConnectionPool(
            url, min_size=1, max_size=size, open=False, check=_check_async,
            connection_class=_AsyncServed, kwargs=_KWARGS,
            timeout=10, reconnect_timeout=5,
        )

    async def open(self) -> None:
        await self._pool.open()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """Open a transaction. It is committed at the end, or rolled back if the body raises."""
        async with self._connection() as connection, connection.transaction():
            yield AsyncTransaction(connection)

    async def all(self, name: str, /, **params: Any) -> list[Row]:
        """Return every row of `table.name`."""
        async with self._connection() as connection:
            return await AsyncStatements(connection).all(name, **params)

    async def one(self, name: str, /, **params: Any) -> Row | None:
        """Return the first row of `table.name`, or None."""
        async with self._connection() as connection:
            return await AsyncStatements(connection).one(name, **params)

    async def run(self, name: str, /, **params: Any) -> int:
        """Run `table.name` and return the number of rows it touched."""
        async with self._connection() as connection:
            return await AsyncStatements(connection).run(name, **params)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection[Row]]:
        with _as_lost_connection():
            async with self._pool.connection() as connection:
                yield connection
                connection.served_at = time.monotonic()
