"""A caller's access to the database: every transaction is bound to its tenant by row-level security."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hone.store.database import AsyncDatabase, AsyncTransaction


@dataclass(frozen=True)
class Session:
    """Who calls, and the only way its requests reach rows."""

    tenant_id: str
    key_id: str
    database: AsyncDatabase

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """Open a transaction that sees this tenant's rows alone, whichever role the gateway connects as."""
        async with self.database.transaction() as transaction:
            await transaction.one("gateway.enter", tenant=self.tenant_id)
            yield transaction


def _session(request: Request) -> Session:
    session = request.state.session
    if not isinstance(session, Session):
        raise TypeError("this path was reached without authentication")
    return session


Caller = Annotated[Session, Depends(_session)]
"""Parameter of an endpoint: the authenticated caller."""
