"""Makes and changes tenants, for the operator."""

from typing import Any

from psycopg.errors import UniqueViolation
from pydantic import BaseModel, ConfigDict, Field

from hone import ids
from hone.client.account_resources import Tenant
from hone.spec.problems import Problem
from hone.spec.run import MOST
from hone.store.database import AsyncTransaction, Row
from services.gateway.admission.keys import Name
from services.gateway.middleware.errors import Conflict, NotFound
from services.gateway.middleware.tenancy import TenantSession

_MOST_BIG = 2**63 - 1
_LIMITS = ("max_runs", "max_running_groups", "max_tokens_a_day", "max_stored_bytes", "month_budget")
_NEVER_NULL = ("name", "suspended", "max_running_groups")


class NewTenant(BaseModel):
    """A tenant that is to be made."""

    model_config = ConfigDict(extra="forbid")

    name: Name


class TenantChange(BaseModel):
    """The fields of a tenant that are to change; those that are absent stay. A quota of null is no limit."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name | None = None
    suspended: bool | None = Field(None, description="Whether its keys are refused and its runs pause.")
    max_runs: int | None = Field(None, ge=0, le=MOST, description="Runs that have begun and not ended.")
    max_running_groups: int | None = Field(None, ge=0, le=MOST, description="Groups that are sampled at a time.")
    max_tokens_a_day: int | None = Field(
        None, ge=0, le=_MOST_BIG, description="Tokens that are generated and trained in a day of UTC.")
    max_stored_bytes: int | None = Field(None, ge=0, le=_MOST_BIG, description="Bytes in the object store.")
    month_budget: float | None = Field(
        None, ge=0, le=1e15, allow_inf_nan=False, description="Money for a month of UTC, in the prices' currency.")

    def applied(self, row: Row) -> dict[str, Any]:
        """Return the parameters of the statement that makes this change of a tenant's row."""
        before = {**{name: row[name] for name in ("name", *_LIMITS)}, "suspended": row["suspended_at"] is not None}
        given = {name: getattr(self, name) for name in self.model_fields_set}
        kept = {name: before[name] for name in _NEVER_NULL if given.get(name) is None}
        return {**before, **given, **kept}


async def row_of(transaction: AsyncTransaction, tenant: str) -> Row:
    """Return the row of the tenant with this id or name. Raises NotFound."""
    row = await transaction.one("tenants.one", tenant=tenant)
    if row is None:
        raise NotFound(f"There is no tenant {tenant}.")
    return row


async def create(session: TenantSession, name: str) -> Tenant:
    """Make a tenant. Raises Conflict if the name is taken."""
    tenant_id = ids.new("tenant")
    session.about(tenant_id)
    try:
        async with session.operation() as transaction:
            await transaction.run("tenants.add", id=tenant_id, name=name)
            return Tenant.model_validate(await row_of(transaction, tenant_id))
    except UniqueViolation:
        raise _taken(name) from None


async def change(session: TenantSession, tenant: str, wanted: TenantChange) -> Tenant:
    """Change a tenant. Raises NotFound, and Conflict for a taken name and for the suspension of an operator."""
    try:
        async with session.operation() as transaction:
            row = await row_of(transaction, tenant)
            if row["operator"] and wanted.suspended:
                raise Conflict(f"{row['name']} is the operator, without which nobody could administer.")
            session.about(row["id"])
            await transaction.run("tenants.change", id=row["id"], **wanted.applied(row))
            return Tenant.model_validate(await row_of(transaction, row["id"]))
    except UniqueViolation:
        raise _taken(wanted.name or "") from None


async def delete(session: TenantSession, tenant: str) -> Tenant:
    """Delete a tenant with its keys. Raises NotFound, and Conflict for an operator and while the tenant holds anything.
    """
    async with session.operation() as transaction:
        row = await row_of(transaction, tenant)
        if row["operator"]:
            raise Conflict(f"{row['name']} is the operator, without which nobody could administer.")
        session.about(row["id"])
        held = await transaction.one("tenants.delete", id=row["id"]) or {}
        left = [f"{count} {kind if count > 1 else kind[:-1]}" for kind, count in held.items() if count]
        if left:
            raise Conflict(f"{row['name']} still has {', '.join(left)}. Delete them first, with a key of that tenant.")
        return Tenant.model_validate(row)


def _taken(name: str) -> Conflict:
    return Conflict(f"The name {name} is taken.", [Problem("name", name, "a name that no tenant has")])


async def session_of(session: TenantSession, tenant: str) -> TenantSession:
    """Return a session of the operator's key in another tenant. Raises NotFound, and Forbidden for no operator."""
    async with session.operation() as transaction:
        row = await row_of(transaction, tenant)
    return session.within(row["id"])
