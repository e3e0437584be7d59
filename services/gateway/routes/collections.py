"""/v1/runs/…/collections: what a run gathered while it trained, such as answers to judge and pairs."""

from fastapi import APIRouter

from hone.client.collection_resources import Collection, CollectionItem
from hone.client.resources import Page
from services.gateway.admission.parameters import AfterSample, Id, Limit, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound, unknown_run
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/runs/{run_id}/collections", tags=["runs"])


@router.get("", openapi_extra=needs("read", "collections"))
async def collections(run_id: Id, caller: Caller) -> Page[Collection]:
    """List the collections of a run by name."""
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        rows = await transaction.all("collections.of_run", run_id=run_id)
    return Page(data=[Collection.model_validate(row) for row in rows])


@router.get("/{name}", openapi_extra=needs("read", "collections"))
async def collection_items(
    run_id: Id, name: Id, caller: Caller, limit: Limit = 100, after: AfterSample = None
) -> Page[CollectionItem]:
    """List the items of a collection, oldest first: version after version, in the order in which each added them."""
    version, _, place = (after or "-1.0").rpartition(".")
    async with caller.transaction() as transaction:
        if await transaction.one("collections.known", run_id=run_id, name=name) is None:
            raise NotFound(f"Run {run_id!r} has no collection {name!r}.")
        rows = await transaction.all("collections.after", run_id=run_id, name=name, version=int(version),
                                     place=int(place), limit=limit + 1)
    return page([CollectionItem.model_validate(row) for row in rows], limit, "id")
