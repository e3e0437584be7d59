"""The caller's access to the database. Row-level security binds every transaction to the caller's tenant."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hone.store.database import AsyncDatabase, AsyncTransaction


@dataclass(frozen=True)
class TenantSession:
    """The tenant and the key of a request, and the only access that the request has to rows."""

    tenant_id: str
    key_id: str
    key_name: str
    scopes: Sequence[str]
    operator: bool  # the tenant administers all others
    database: AsyncDatabase

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """Open a transaction that sees the rows of this tenant only, whatever role the gateway connects as."""
        async with self.database.transaction() as transaction:
            await transaction.one("tenants.enter", tenant=self.tenant_id)
            yield transaction


def _session(request: Request) -> TenantSession:
    session = request.state.session
    if not isinstance(session, TenantSession):
        raise TypeError("this path was reached without authentication")
    return session


Caller = Annotated[TenantSession, Depends(_session)]
"""Parameter of an endpoint: the session of the authenticated caller."""
