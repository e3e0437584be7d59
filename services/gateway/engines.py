"""/v1/engines: inference engines, and what each holds of the caller's models."""

from collections import defaultdict

from fastapi import APIRouter

from hone.client.resources import Engine, EngineModel, Page
from services.gateway.tenancy import Caller

router = APIRouter(prefix="/v1/engines", tags=["health"])


@router.get("")
async def listed(caller: Caller) -> Page[Engine]:
    """List inference engines with the versions they hold and what they generated."""
    async with caller.transaction() as transaction:
        engines = await transaction.all("gateway.engines")
        rows = await transaction.all("gateway.engine_models")
    held: dict[str, list[EngineModel]] = defaultdict(list)
    for row in rows:
        held[row["engine_id"]].append(EngineModel.model_validate(row))
    return Page(data=[Engine.model_validate({**engine, "models": held[engine["id"]]}) for engine in engines])
