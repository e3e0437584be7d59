"""/v1/tenants: all tenants, for admin keys of the operator."""

from typing import Annotated

from fastapi import APIRouter

from hone.client.account_resources import CreatedKey, Tenant
from hone.client.resources import Page
from services.gateway.admission import keys, tenants
from services.gateway.admission.parameters import Id, Limit, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/tenants", tags=["tenants"])

AfterTenant = Annotated[str | None, after(r"tenant_\w+")]


@router.get("", openapi_extra=needs("operator", "tenants"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterTenant = None) -> Page[Tenant]:
    """List all tenants with their quotas, newest first."""
    async with caller.operation() as transaction:
        rows = await transaction.all("tenants.page", after=after, limit=limit + 1)
    return page([Tenant.model_validate(row) for row in rows], limit, "id")


@router.post("", status_code=201, openapi_extra=needs("operator", "tenants", {"name": "research"}))
async def create(wanted: tenants.NewTenant, caller: Caller) -> Tenant:
    """Make a tenant. It has no key yet: make its first one next."""
    return await tenants.create(caller, wanted.name)


@router.get("/{tenant}", openapi_extra=needs("operator", "tenants"))
async def one(tenant: Id, caller: Caller) -> Tenant:
    """Return a tenant by id or name."""
    async with caller.operation() as transaction:
        return Tenant.model_validate(await tenants.row_of(transaction, tenant))


@router.patch("/{tenant}", openapi_extra=needs("operator", "tenants", {"max_runs": 4, "month_budget": 100}))
async def change(tenant: Id, wanted: tenants.TenantChange, caller: Caller) -> Tenant:
    """Rename a tenant, suspend it or let it go on, set its quotas. Fields that are absent stay."""
    return await tenants.change(caller, tenant, wanted)


@router.delete("/{tenant}", openapi_extra=needs("operator", "tenants"))
async def delete(tenant: Id, caller: Caller) -> Tenant:
    """Delete a tenant that has no runs, models, datasets and uploads any more (else 409), and revoke its keys.

    Its name is free at once. Its usage and its audit log stay in the database.
    """
    return await tenants.delete(caller, tenant)


@router.post("/{tenant}/keys", status_code=201,
             openapi_extra=needs("operator", "keys", {"name": "first", "scopes": ["admin"]}))
async def create_key(tenant: Id, wanted: keys.WantedKey, caller: Caller) -> CreatedKey:
    """Make a key of a tenant, such as its first admin key. The answer alone holds its secret."""
    return await keys.create(caller, await tenants.session_of(caller, tenant), wanted)
