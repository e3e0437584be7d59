"""Makes API keys: a key gives no more than it has, neither in scopes nor in time."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hone.client.account_resources import CreatedKey, Key
from hone.keys import NewKey, digest
from hone.scopes import Scope, includes
from hone.spec.problems import Invalid, Problem
from hone.store.database import AsyncTransaction, Row
from services.gateway.admission.parameters import Time
from services.gateway.middleware.errors import Conflict, Forbidden, NotFound
from services.gateway.middleware.tenancy import TenantSession

Name = Annotated[str, StringConstraints(
    strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
"""Name of a key or tenant, for people."""


class WantedKey(BaseModel):
    """A key that is to be made."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(description="The person or program that uses the key.")
    scopes: set[Scope] = Field(default={"read", "run"}, min_length=1, description="admin includes run includes read.")
    expires_at: Time | None = Field(
        None, lt=datetime(3000, 1, 1, tzinfo=UTC),
        description="With its UTC offset: 2027-01-31T00:00:00Z. Null: when the key that makes it does.")


async def create(giver: TenantSession, tenant: TenantSession, wanted: WantedKey) -> CreatedKey:
    """Make a key of a tenant. `giver` is the session of the request, in the same tenant or in an operator.

    Raises Forbidden for scopes that the giver lacks, Invalid for a time that has passed or is later than the giver's.
    """
    expect_no_more(giver.scopes, wanted.scopes)
    async with giver.transaction() as transaction:
        until = await transaction.one("api_keys.expiry", id=giver.key_id, wanted=wanted.expires_at)
    key = NewKey()
    tenant.about(key.id)
    async with tenant.transaction() as transaction:
        await transaction.run(
            "api_keys.add", id=key.id, tenant_id=tenant.tenant_id, name=wanted.name, prefix=key.prefix,
            hash=digest(key.secret), scopes=sorted(wanted.scopes), expires_at=_expiry(until, wanted.expires_at))
        return CreatedKey(**await row_of(transaction, tenant, key.id), secret=key.secret)


def expect_no_more(held: Collection[str], wanted: Collection[Scope]) -> None:
    """Raise Forbidden unless these scopes include all that are wanted."""
    lacking = sorted(scope for scope in wanted if not includes(held, scope))
    if lacking:
        raise Forbidden(f"A key gives no more than it has: this key lacks the scope {', '.join(lacking)}.",
                        extra={"scope": lacking[0]})


def _expiry(until: Row | None, wanted: datetime | None) -> datetime | None:
    """Return when the new key expires. Raises Invalid."""
    if until is None:
        raise Forbidden("The key of this request is gone.")
    if wanted is not None and until["passed"]:
        raise Invalid([Problem("expires_at", wanted.isoformat(), "a time that has not passed")])
    limit: datetime | None = until["expires_at"]
    if wanted is not None and limit is not None and wanted > limit:
        raise Invalid([Problem("expires_at", wanted.isoformat(), f"at most {limit.isoformat()}, as this key")])
    return wanted or limit


async def row_of(transaction: AsyncTransaction, session: TenantSession, key: str) -> Row:
    """Return the row of the tenant's key with this id or prefix. Raises NotFound."""
    row = await transaction.one("api_keys.one", tenant_id=session.tenant_id, key=key)
    if row is None:
        raise NotFound(f"There is no key {key}.")
    return row


async def revoke(session: TenantSession, key: str) -> Key:
    """Refuse a key from now on. Raises NotFound, and Conflict for the last admin key of the tenant."""
    async with session.transaction() as transaction:
        await transaction.one("api_keys.lock_revocations", tenant_id=session.tenant_id)
        found = await row_of(transaction, session, key)
        if not await transaction.one("api_keys.other_admin", tenant_id=session.tenant_id, id=found["id"]):
            raise Conflict(f"{found['name']} is the last admin key of this tenant. Make another admin key first.")
        session.about(found["id"])
        await transaction.run("api_keys.revoke", id=found["id"])
        return Key(**await row_of(transaction, session, found["id"]))
