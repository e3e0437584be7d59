"""/v1/quotas and /v1/prices: what a tenant may use, what it uses, and what that costs."""

from fastapi import APIRouter

from hone.client.account_resources import Prices, Quotas
from services.gateway.admission import quotas, tenants
from services.gateway.admission.parameters import Id
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1", tags=["quotas"])


@router.get("/quotas", openapi_extra=needs("read", "quotas"))
async def own(caller: Caller) -> Quotas:
    """Return the quotas of the tenant, and what is used of each now."""
    return await quotas.of_tenant(caller)


@router.get("/tenants/{tenant}/quotas", openapi_extra=needs("operator", "quotas"))
async def of_tenant(tenant: Id, caller: Caller) -> Quotas:
    """Return the quotas of any tenant, and what is used of each now. `PATCH /v1/tenants/…` sets them."""
    return await quotas.of_tenant(await tenants.session_of(caller, tenant))


@router.get("/prices", openapi_extra=needs("read", "prices"))
async def prices(caller: Caller) -> Prices:
    """Return the price list of the stack."""
    return await quotas.prices(caller)


@router.patch("/prices", openapi_extra=needs("operator", "prices", {"currency": "EUR", "trainer_s": 0.001}))
async def set_prices(wanted: quotas.PriceChange, caller: Caller) -> Prices:
    """Set prices; those that are absent stay. What was used before keeps the cost that it had."""
    return await quotas.set_prices(caller, wanted)
