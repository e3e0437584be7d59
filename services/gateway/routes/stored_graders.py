"""/v1/graders/stored: graders under a name."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from hone.client.judge_resources import JUDGE_NAME, StoredGrader
from hone.client.resources import Page
from hone.environments import row_json
from hone.store.database import Row
from services.gateway.admission import graders
from services.gateway.admission.parameters import AfterName, Id, Limit, page, same
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/graders/stored", tags=["graders"])

Name = Annotated[str, Path(pattern=JUDGE_NAME, description="Name of the grader, as runs give it.")]


class WantedGrader(BaseModel):
    """A grader."""

    model_config = ConfigDict(extra="forbid")

    grader: dict[str, Any] = Field(description="Its JSON, with its type.")


@router.get("", openapi_extra=needs("read", "stored graders"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterName = None) -> Page[StoredGrader]:
    """List names with what each means now."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("stored_graders.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([_resource(row) for row in rows], limit, "name")


@router.get("/{name}", openapi_extra=needs("read", "stored graders"))
async def one(
    name: Id, caller: Caller,
    hash: Annotated[str | None, Query(description="Of a certain content, which the name meant once.")] = None,
) -> StoredGrader:
    """Return the grader that a name means."""
    async with caller.transaction() as transaction:
        row = await transaction.one("stored_graders.one", tenant_id=caller.tenant_id, name=name, hash=hash)
    if row is None:
        raise NotFound(f"There is no grader {name!r}.")
    return _resource(row)


@router.put("/{name}", status_code=201, response_model=StoredGrader, responses=same(StoredGrader),
            openapi_extra=needs("run", "stored graders", {"grader": {"type": "exact"}}))
async def put(name: Name, wanted: WantedGrader, caller: Caller) -> JSONResponse:
    """Add a grader under a name, or change what the name means. 201: the content is new."""
    spec = await graders.checked(caller, wanted.grader)
    async with caller.transaction() as transaction:
        row = await transaction.one("stored_graders.put", tenant_id=caller.tenant_id, name=name, hash=spec.hash,
                                    grader=spec.json)
    assert row is not None
    return JSONResponse(_resource(row).model_dump(mode="json"), 201 if row["new"] else 200)


@router.delete("/{name}", openapi_extra=needs("run", "stored graders"))
async def delete(name: Id, caller: Caller) -> StoredGrader:
    """Delete a name with all that it meant. Runs keep their graders. Returns what it was."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("stored_graders.delete", tenant_id=caller.tenant_id, name=name)
    if not rows:
        raise NotFound(f"There is no grader {name!r}.")
    return _resource(max(rows, key=lambda row: row["created_at"]))


def _resource(row: Row) -> StoredGrader:
    return StoredGrader(name=row["name"], hash=row["hash"], created_at=row["created_at"],
                        grader=row_json.plain(row_json.read(row["grader"])))
