"""The caller's access to the database. Row-level security binds every transaction to the caller's tenant."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request

from hone import limits
from hone.limits import Limit
from hone.store.database import AsyncDatabase, AsyncTransaction
from services.gateway.middleware.audit import AuditedRequest
from services.gateway.middleware.errors import Forbidden


@dataclass(frozen=True)
class TenantSession:
    """The tenant and the key of a request, and the only access that the request has to rows."""

    tenant_id: str
    key_id: str
    key_name: str
    scopes: Sequence[str]
    operator: bool  # the tenant administers all others
    database: AsyncDatabase
    audited: AuditedRequest | None = None  # None: the audit log does not tell what is changed

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """Open a transaction that sees the rows of this tenant only, whatever role the gateway connects as.

        What it changes is in the audit log.
        """
        async with self.database.transaction() as transaction:
            await transaction.one("tenants.enter", tenant=self.tenant_id)
            yield transaction
            if self.audited is not None:
                await self.audited.tell(transaction, self.tenant_id, self.key_id)

    @asynccontextmanager
    async def operation(self) -> AsyncIterator[AsyncTransaction]:
        """Open a transaction that also sees and changes the row of every tenant. Raises Forbidden for no operator."""
        async with self.transaction() as transaction:
            allowed = await transaction.one("tenants.operate")
            if allowed is None or not allowed["allowed"]:
                raise Forbidden("This tenant is not the operator.", extra={"scope": "operator"})
            yield transaction

    async def reached_limit(self) -> Limit | None:
        """Return the quota of the tenant that refuses what costs tokens, if one is used up."""
        async with self.transaction() as transaction:
            figures = await transaction.one("tenants.limits", tenant=self.tenant_id, storage=False)
        return None if figures is None else limits.reached(figures)

    def about(self, subject: str) -> None:
        """Tell the audit log the id of what this request makes or changes, where its path does not name it."""
        if self.audited is not None:
            self.audited.subject = subject

    def within(self, tenant_id: str) -> "TenantSession":
        """Return this key's session in another tenant. Only what an operator does begins there."""
        return replace(self, tenant_id=tenant_id, operator=False)


def _session(request: Request) -> TenantSession:
    session = request.state.session
    if not isinstance(session, TenantSession):
        raise TypeError("this path was reached without authentication")
    return session


Caller = Annotated[TenantSession, Depends(_session)]
"""Parameter of an endpoint: the session of the authenticated caller."""
