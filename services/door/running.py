"""The calls in progress: how many a tenant may have, how much memory they take, and their end when their key ends."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import OperationalError

from hone.rpc.errors import OverBudget, Unauthenticated
from hone.store.database import AsyncDatabase
from services.door.keys import KEPT_S, Holder
from services.door.reading import first

_READS = 8
"""Requests of one tenant that are read at a time: each may have the largest size."""
_ENDED = "authorization: the key of this call is not in use any more: it was revoked, or its time or tenant ended"
_log = logging.getLogger(__name__)


class Tenant:
    """The calls of one tenant."""

    def __init__(self) -> None:
        self.calls, self.held_bytes, self.reading = 0, 0, asyncio.Semaphore(_READS)


class Running:
    """One call in progress. Make it in the call's own task."""

    def __init__(self, holder: Holder, tenant: Tenant, most_bytes: int) -> None:
        self.holder, self._tenant, self._most_bytes = holder, tenant, most_bytes
        self._task, self._bytes, self.ended = asyncio.current_task(), 0, False

    def end(self) -> None:
        """Have the call raise Unauthenticated."""
        self.ended = True
        if self._task is not None:
            self._task.cancel()

    def stays(self) -> None:
        """Take back the cancellation that `end` asked for."""
        if self._task is not None:
            self._task.uncancel()

    async def read(self, requests: AsyncIterator[bytes]) -> bytes:
        """Return the call's request. Raises InvalidField if there is none, Late, and OverBudget."""
        raw = await first(requests, self._tenant.reading)
        if self._tenant.held_bytes + len(raw) > _READS * self._most_bytes:
            raise OverBudget(f"request: found {len(raw)} bytes, with {self._tenant.held_bytes} in the tenant's other "
                             f"calls, expected at most {_READS * self._most_bytes} together (HONE_DOOR_MESSAGE_MB)")
        self._bytes = len(raw)
        self._tenant.held_bytes += self._bytes
        return raw

    def release(self) -> None:
        """Give back the memory of the request."""
        self._tenant.held_bytes -= self._bytes


class RunningCalls:
    """All calls in progress, by tenant and by key."""

    def __init__(self, database: AsyncDatabase, most: int, most_bytes: int) -> None:
        self._database, self._most, self._most_bytes = database, most, most_bytes
        self._tenants: defaultdict[str, Tenant] = defaultdict(Tenant)
        self._of_key: defaultdict[bytes, set[Running]] = defaultdict(set)

    @contextmanager
    def one(self, holder: Holder) -> Iterator[Running]:
        """Hold a place for a call while the context is open.

        Raises OverBudget if the tenant has no place left, and Unauthenticated once the key is not in use any more.
        """
        tenant = self._tenants[holder.caller.tenant_id]
        if tenant.calls >= self._most:
            raise OverBudget(f"calls: found {tenant.calls} of the tenant in progress, expected fewer than "
                             f"{self._most} (HONE_DOOR_CALLS)")
        tenant.calls += 1
        running = Running(holder, tenant, self._most_bytes)
        self._of_key[holder.hash].add(running)
        try:
            yield running
        except asyncio.CancelledError:
            if not running.ended:
                raise
            running.stays()
            raise Unauthenticated(_ENDED) from None
        finally:
            tenant.calls -= 1
            running.release()
            self._leave(holder, running)

    def _leave(self, holder: Holder, running: Running) -> None:
        self._of_key[holder.hash].discard(running)
        if not self._of_key[holder.hash]:
            del self._of_key[holder.hash]
        if not self._tenants[holder.caller.tenant_id].calls:
            del self._tenants[holder.caller.tenant_id]

    async def end_forever(self) -> None:
        """End calls whose key is not in use any more, until cancelled."""
        while True:
            await asyncio.sleep(KEPT_S)
            try:
                await self.end_those_of_ended_keys()
            except OperationalError as error:
                _log.warning("the keys of calls in progress cannot be checked: %s", error)

    async def end_those_of_ended_keys(self) -> None:
        """Look up the keys of all calls once. Raises psycopg.OperationalError."""
        asked = list(self._of_key)
        rows: list[Any] = await self._database.all("api_keys.in_use", hashes=asked) if asked else []
        for ended in set(asked) - {bytes(row["hash"]) for row in rows}:
            for running in tuple(self._of_key.get(ended, ())):
                running.end()
