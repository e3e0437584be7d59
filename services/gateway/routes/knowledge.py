"""/v1/knowledge: what runs learned of environments, under names, for the harnesses of other runs."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse

from hone.client.knowledge_resources import KNOWLEDGE_NAME, Knowledge, KnownText, WantedKnowledge
from hone.client.resources import Page
from hone.store.database import Row
from services.gateway.admission import knowledge
from services.gateway.admission.parameters import AfterName, Id, Limit, page, same
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/knowledge", tags=["knowledge"])

Name = Annotated[str, Path(pattern=KNOWLEDGE_NAME, description="Name of the knowledge, as specs give it.")]
Version = Annotated[int | None, Query(ge=1, lt=2**31, description="A version of the name; when absent, the newest.")]
AfterPlace = Annotated[int, Query(ge=0, lt=2**31, description="`next` of the previous page; absent for the first "
                                  "page.")]


@router.get("", openapi_extra=needs("read", "knowledge"))
async def stored(caller: Caller, limit: Limit = 50, after: AfterName = None) -> Page[Knowledge]:
    """List names with the newest version of each."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("knowledge.page", after=after, limit=limit + 1)
    return page([Knowledge.model_validate(row) for row in rows], limit, "name")


@router.put("/{name}", status_code=201, response_model=Knowledge, responses=same(Knowledge),
            openapi_extra=needs("run", "knowledge", {"run_id": "run_1"}))
async def save(name: Name, wanted: WantedKnowledge, caller: Caller) -> JSONResponse:
    """Store what a run has learned as the name's next version. 201: it is new."""
    async with caller.transaction() as transaction:
        row, new = await knowledge.save(transaction, name, wanted.run_id)
    return JSONResponse(Knowledge.model_validate(row).model_dump(mode="json"), 201 if new else 200)


@router.get("/{name}", openapi_extra=needs("read", "knowledge"))
async def one(name: Id, caller: Caller, version: Version = None) -> Knowledge:
    """Return a version of a name."""
    return Knowledge.model_validate(await _row(caller, name, version))


@router.get("/{name}/items", openapi_extra=needs("read", "knowledge"))
async def items(
    name: Id, caller: Caller, version: Version = None, limit: Limit = 200, after: AfterPlace = 0,
) -> Page[KnownText]:
    """List the texts of a version in the order in which they were learned."""
    row = await _row(caller, name, version)
    async with caller.transaction() as transaction:
        rows = await transaction.all("knowledge.items", name=name, version=row["version"],
                                     after=after, limit=limit + 1)
    return page([KnownText.model_validate(row) for row in rows], limit, "place")


@router.delete("/{name}", openapi_extra=needs("run", "knowledge"))
async def delete(name: Id, caller: Caller) -> Knowledge:
    """Delete a name with all its versions. Runs that began with it keep what they read. Returns what it was."""
    row = await _row(caller, name, None)
    async with caller.transaction() as transaction:
        await transaction.run("knowledge.delete", name=name)
    return Knowledge.model_validate(row)


async def _row(caller: Caller, name: str, version: int | None) -> Row:
    async with caller.transaction() as transaction:
        row = await transaction.one("knowledge.one", name=name, version=version)
    if row is None:
        raise NotFound(f"There is no stored knowledge {name!r}" + (f" with the version {version}." if version else "."))
    return row
