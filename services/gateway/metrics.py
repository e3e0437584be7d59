"""/metrics: what rows know of the caller's tenant, for Prometheus."""

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from hone.telemetry.gauges import STATEMENTS, text
from services.gateway.tenancy import Caller

router = APIRouter(tags=["health"])

_TYPE = "text/plain; version=0.0.4"


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(caller: Caller) -> PlainTextResponse:
    """Tell Prometheus of runs, groups, steps, staleness, gap, engines and workers; give it a key to ask with."""
    async with caller.transaction() as transaction:
        found = {name: await transaction.all(name) for name in STATEMENTS}
    return PlainTextResponse(text(found), media_type=_TYPE)
