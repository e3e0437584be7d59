"""PostgreSQL's NOTIFY as a hint that rows changed. A process that waits for one also looks by itself after a while."""

import asyncio

from psycopg import AsyncConnection, Connection, OperationalError


class Listener:
    """Waits for hints on some channels. A hint that comes between two calls is not lost."""

    def __init__(self, url: str, *channels: str) -> None:
        self._url, self._channels = url, channels
        self._connection: Connection | None = None

    def wait(self, timeout_s: float) -> set[str]:
        """Return the channels with a hint, or an empty set after `timeout_s` without one.

        Raises psycopg.OperationalError if the server is away. The next call connects again.
        """
        try:
            notes = self._connected().notifies(timeout=timeout_s, stop_after=1)
            return {note.channel for note in notes}
        except OperationalError:
            self._connection = None
            raise

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = Connection.connect(self._url, autocommit=True, connect_timeout=5)
            for channel in self._channels:
                self._connection.execute(f"LISTEN {channel}".encode())
        return self._connection


async def follow(url: str, channel: str, changed: asyncio.Event, retry_s: float = 1.0) -> None:
    """Set `changed` at each hint on `channel` and at each new connection, until cancelled."""
    while True:
        try:
            async with await AsyncConnection.connect(url, autocommit=True, connect_timeout=5) as connection:
                await connection.execute(f"LISTEN {channel}".encode())
                changed.set()
                async for _ in connection.notifies():
                    changed.set()
        except OperationalError:
            await asyncio.sleep(retry_s)
