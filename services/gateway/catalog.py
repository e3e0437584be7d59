"""/v1/environments and /v1/algorithms: what a spec may name."""

from fastapi import APIRouter

from hone.client import catalog
from hone.client.resources import Algorithm, Environment, Page
from services.gateway.errors import NotFound
from services.gateway.parameters import Id

router = APIRouter(prefix="/v1", tags=["catalog"])


@router.get("/environments")
async def environments() -> Page[Environment]:
    """List environments and the JSON Schema of their parameters."""
    return Page(data=catalog.environments())


@router.get("/algorithms")
async def algorithms() -> Page[Algorithm]:
    """List presets with the method that fills each slot."""
    return Page(data=catalog.algorithms())


@router.get("/algorithms/{name}")
async def algorithm(name: Id) -> Algorithm:
    """Return one preset."""
    for preset in catalog.algorithms():
        if preset.name == name:
            return preset
    raise NotFound(f"There is no algorithm {name}.")
