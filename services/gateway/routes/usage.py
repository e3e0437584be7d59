"""/v1/usage: tokens, seconds and grades by run or key."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from hone.client.resources import Page, Usage
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/usage", tags=["usage"])

Moment = Annotated[AwareDatetime | None, Query(description="With its UTC offset: 2026-01-31T00:00:00Z.")]


@router.get("")
async def usage(
    caller: Caller, by: Annotated[Literal["run", "key"], Query(description="Sum amounts by run or by key.")] = "run",
    since: Moment = None, until: Moment = None, run_id: Annotated[str | None, Query(pattern=r"^\w+$")] = None,
) -> Page[Usage]:
    """Sum tokens, seconds and grades by run or by key."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("usage.totals", by=by, since=since, until=until, run_id=run_id)
    return Page(data=[Usage.model_validate(row) for row in rows])
