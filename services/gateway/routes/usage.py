"""/v1/usage: tokens, seconds and grades by run or key. /v1/storage, /v1/retention: what is stored."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from hone.client.resources import Page, Usage
from hone.client.storage_resources import Retained, Storage
from services.gateway.admission import retained
from services.gateway.admission.parameters import Config, Limit, Time, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1", tags=["usage"])

AfterUsed = Annotated[str | None, after(r"(run|key)_\w+")]

Moment = Annotated[Time | None, Query(description="With its UTC offset: 2026-01-31T00:00:00Z.")]


@router.get("/storage", openapi_extra=needs("read", "storage"))
async def storage(caller: Caller, limit: Limit = 50) -> Storage:
    """Return the tenant's storage: the sum, and the largest items.

    A driver measures it each time it lists the store. Files that several models share count once, where they were
    stored first.
    """
    async with caller.transaction() as transaction:
        total = await transaction.one("stored_sizes.total")
        rows = await transaction.all("stored_sizes.page", limit=limit)
    return Storage.model_validate({**(total or {}), "items": rows})


@router.get("/retention", openapi_extra=needs("read", "storage"))
async def retention(caller: Caller, settings: Config) -> Page[Retained]:
    """Return the stored data by kind, how long it is kept, and the objects that are deleted next without a request."""
    return Page(data=await retained.of_tenant(caller, settings))


@router.get("/usage", openapi_extra=needs("read", "usage"))
async def usage(
    caller: Caller, by: Annotated[Literal["run", "key"], Query(description="Sum amounts by run or by key.")] = "run",
    since: Moment = None, until: Moment = None, run_id: Annotated[str | None, Query(pattern=r"^\w+$")] = None,
    limit: Limit = 50, after: AfterUsed = None,
) -> Page[Usage]:
    """Sum tokens, seconds and grades by run or by key, the newest run or key first."""
    statement = "usage.by_run" if by == "run" else "usage.by_key"
    async with caller.transaction() as transaction:
        rows = await transaction.all(
            statement, tenant_id=caller.tenant_id, since=since, until=until, run_id=run_id, after=after,
            limit=limit + 1)
    return page([Usage.model_validate(row) for row in rows], limit, "id")
