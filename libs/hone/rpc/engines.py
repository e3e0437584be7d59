"""The inference engines that calls of tenants go to, found by their rows. The door and the gateway use them."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection

from psycopg import OperationalError

from hone.process.heartbeat import engine_fresh_s
from hone.rpc import outage
from hone.rpc.errors import NotReady
from hone.store.database import AsyncDatabase

_KEPT_S = 1.0
"""Seconds for which it is remembered which engines hold a model."""
_MOST = 10_000
_log = logging.getLogger(__name__)


class Engines:
    """The addresses of all engines that have reported lately, and the number of our calls to each."""

    def __init__(self, database: AsyncDatabase, sweep_s: float) -> None:
        self._database, self._sweep_s = database, sweep_s
        self._live: list[str] = []
        self._holders: dict[tuple[str, str], tuple[float, set[str]]] = {}
        self.calls: Counter[str] = Counter()

    async def live(self) -> list[str]:
        """Return the address of each engine. Raises NotReady if there is none."""
        if not self._live:
            with outage.reported():
                await self.look()
        if not self._live:
            raise NotReady("no engine has reported lately")
        return self._live

    async def choose(self, tenant_id: str, model_ids: Collection[str]) -> str:
        """Return the address of the engine with the fewest of our calls, if possible one that holds the models.

        Raises NotReady if there is no engine, or the database is away.
        """
        live = await self.live()
        with outage.reported():
            holding = await self._holding(tenant_id, model_ids)
        able = [address for address in live if address in holding]
        return min(able or live, key=lambda address: (self.calls[address], address))

    async def follow_forever(self) -> None:
        """Read the engines' rows every sweep, until cancelled."""
        while True:
            try:
                await self.look()
            except OperationalError as error:
                _log.warning("the engines' rows cannot be read: %s", error)
            await asyncio.sleep(self._sweep_s)

    async def look(self) -> None:
        """Read the engines' rows. Raises psycopg.OperationalError."""
        rows = await self._database.all("engines.addresses", fresh_s=engine_fresh_s(self._sweep_s))
        self._live = [row["address"] for row in rows]

    async def _holding(self, tenant_id: str, model_ids: Collection[str]) -> set[str]:
        """Return the engines that hold the first of these models of a tenant."""
        model_id = next(iter(model_ids), "")
        until, found = self._holders.get((tenant_id, model_id), (0.0, set[str]()))
        if not model_id or time.monotonic() < until:
            return found
        async with self._database.transaction() as transaction:
            await transaction.one("tenants.enter", tenant=tenant_id)
            rows = await transaction.all("engines.holding", model_id=model_id)
        if len(self._holders) >= _MOST:
            self._holders.clear()
        found = {row["address"] for row in rows}
        self._holders[tenant_id, model_id] = (time.monotonic() + _KEPT_S, found)
        return found
