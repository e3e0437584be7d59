"""When keys were last used, written for whatever a key is used for: REST and gRPC."""

import time

from hone.store.database import AsyncDatabase

USE_NOTED_S = 60.0
"""Seconds within which a key's use is written once, and not with each request."""


class KeyUses:
    """Writes `last_used_at` of keys."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._noted: dict[str, float] = {}  # when the use of a key was written, by its id

    async def note(self, tenant_id: str, key_id: str) -> None:
        """Note that a key of the tenant is used now. Raises psycopg.OperationalError."""
        now = time.monotonic()
        if now - self._noted.get(key_id, -USE_NOTED_S) < USE_NOTED_S:
            return
        self._noted[key_id] = now
        async with self._database.transaction() as transaction:
            await transaction.one("tenants.enter", tenant=tenant_id)
            await transaction.run("api_keys.note_use", id=key_id, every_s=USE_NOTED_S)
