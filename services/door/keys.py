"""The holders of API keys."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hone import keys
from hone.rpc import outage
from hone.rpc.errors import Unauthenticated
from hone.rpc.tenancy import Caller
from hone.store.database import AsyncDatabase
from hone.store.key_uses import KeyUses

KEPT_S = 3.0
"""Seconds for which a holder is remembered: a revoked key works that long."""
_MOST = 10_000


class Holder(NamedTuple):
    """Who holds a key, what the key may do, and its hash."""

    caller: Caller
    scopes: list[str]
    hash: bytes


class KeyHolders:
    """Looks up the holders of keys, and notes that the keys are used."""

    def __init__(self, database: AsyncDatabase, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock, self._uses = database, clock, KeyUses(database)
        self._known: dict[str, tuple[float, Holder]] = {}

    async def of_call(self, metadata: Iterable[Any]) -> Holder:
        """Return the holder of the key that a call shows. Raises Unauthenticated, and NotReady during an outage."""
        secret = _secret(metadata)
        until, holder = self._known.get(secret, (0.0, None))
        if holder is None or self._clock() >= until:
            holder = await self._look_up(secret)
        return holder

    async def _look_up(self, secret: str) -> Holder:
        shown = keys.digest(secret)
        with outage.reported():
            row = await self._database.one("api_keys.holder", hash=shown)
            if row is None:
                self._known.pop(secret, None)
                raise Unauthenticated("authorization: found a key that is not in use, expected a valid API key")
            await self._uses.note(row["tenant_id"], row["id"])
        holder = Holder(Caller(row["tenant_id"], row["id"]), row["scopes"], shown)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[secret] = (self._clock() + KEPT_S, holder)
        return holder


def _secret(metadata: Iterable[Any]) -> str:
    """Return the key in the metadata of a call. Raises Unauthenticated."""
    shown = next((value for name, value in metadata if name == "authorization"), "")
    scheme, _, secret = shown.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated(f"authorization: found no key, expected Bearer {keys.PREFIX}… in the metadata")
    return str(secret.strip())
