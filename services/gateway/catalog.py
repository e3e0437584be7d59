"""/v1/environments, /v1/algorithms, /v1/graders: what a spec may name, and what graders did."""

from fastapi import APIRouter

from hone.client import catalog
from hone.client.resources import Algorithm, Environment, Grader, GraderActivity, Page
from services.gateway.errors import NotFound
from services.gateway.parameters import Id
from services.gateway.tenancy import Caller

router = APIRouter(prefix="/v1", tags=["catalog"])

NEWEST_GRADES = 10_000
"""Grades that are summed up; older ones would make the answer slow."""


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


@router.get("/graders")
async def graders() -> Page[Grader]:
    """List kinds of graders and the JSON Schema of their parameters."""
    return Page(data=catalog.graders())


@router.get("/graders/activity")
async def activity(caller: Caller) -> Page[GraderActivity]:
    """Sum the newest 10 000 grades by grader, component and status."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("gateway.grader_activity", limit=NEWEST_GRADES)
    return Page(data=[GraderActivity.model_validate(row) for row in rows])
