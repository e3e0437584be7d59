"""Which rows are a tenant's. An owner never changes, so what was found once is kept."""

from collections.abc import Iterable

from hone.store.database import AsyncDatabase

_MOST = 10_000
"""Rows that are remembered."""


class OwnedRows:
    """Looks up the owner of models and runs."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._known: set[tuple[str, str, str]] = set()

    async def strange(self, tenant_id: str, kind: str, ids: Iterable[str]) -> set[str]:
        """Return which of these ids are of no `kind` (model or run) of the tenant.

        Raises psycopg.OperationalError while the database is away.
        """
        unknown = {one for one in ids if (tenant_id, kind, one) not in self._known}
        if not unknown:
            return unknown
        storable = [one for one in unknown if "\0" not in one]
        rows = await self._database.all(f"{kind}s.owned", tenant_id=tenant_id, ids=storable)
        own = {row["id"] for row in rows}
        self._remember({(tenant_id, kind, one) for one in own})
        return unknown - own

    def _remember(self, found: set[tuple[str, str, str]]) -> None:
        if len(self._known) + len(found) > _MOST:
            self._known.clear()
        self._known |= found
