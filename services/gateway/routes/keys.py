"""/v1/keys: the API keys of a tenant, and /v1/account: whose key a request has."""

from typing import Annotated

from fastapi import APIRouter

from hone.client.account_resources import Account, CreatedKey, Key
from hone.client.resources import Page
from services.gateway.admission import keys
from services.gateway.admission.parameters import Id, Limit, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1", tags=["keys"])

AfterKey = Annotated[str | None, after(r"key_\w+")]


@router.get("/account", openapi_extra=needs("read", "keys"))
async def account(caller: Caller) -> Account:
    """Return whose key this is: its tenant, and its scopes."""
    async with caller.transaction() as transaction:
        tenant = await transaction.one("tenants.one", tenant=caller.tenant_id)
    if tenant is None:
        raise NotFound("The tenant of this key is gone.")
    return Account(tenant_id=caller.tenant_id, tenant=tenant["name"], operator=caller.operator, key_id=caller.key_id,
                   key=caller.key_name, scopes=list(caller.scopes))


@router.get("/keys", openapi_extra=needs("admin", "keys"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterKey = None) -> Page[Key]:
    """List the tenant's keys, newest first, revoked ones included. Only the hash of a key is stored."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("api_keys.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([Key.model_validate(row) for row in rows], limit, "id")


@router.post("/keys", status_code=201,
             openapi_extra=needs("admin", "keys", {"name": "laptop", "scopes": ["read", "run"]}))
async def create(wanted: keys.WantedKey, caller: Caller) -> CreatedKey:
    """Make a key. The answer alone holds its secret, so there is no Idempotency-Key: a repeated request makes another.

    A key gives no more than it has: no scope that it lacks (403), and no longer time (422).
    """
    return await keys.create(caller, caller, wanted)


@router.delete("/keys/{key}", openapi_extra=needs("admin", "keys"))
async def revoke(key: Id, caller: Caller) -> Key:
    """Revoke a key by id or prefix: it is refused from now on."""
    return await keys.revoke(caller, key)
