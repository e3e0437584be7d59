"""/v1/environments, /v1/algorithms, /v1/graders: the names that a spec may use, and the activity of graders."""

from typing import Annotated

from fastapi import APIRouter, Query

from hone.client import catalog
from hone.client.resources import Algorithm, Environment, Grader, GraderActivity, Page, StartingSpec
from services.gateway.admission.parameters import Id
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1", tags=["catalog"])

NEWEST_GRADES = 10_000
"""Grades that are summed; older ones would make the answer slow."""


@router.get("/environments", openapi_extra=needs("read", "environments"))
async def environments() -> Page[Environment]:
    """List environments with the JSON Schema of their parameters."""
    return Page(data=catalog.environments())


@router.get("/algorithms", openapi_extra=needs("read", "algorithms"))
async def algorithms() -> Page[Algorithm]:
    """List the presets with the method in each slot."""
    return Page(data=catalog.algorithms())


@router.get("/algorithms/{name}", openapi_extra=needs("read", "algorithms"))
async def algorithm(name: Id) -> Algorithm:
    """Return one preset."""
    for preset in catalog.algorithms():
        if preset.name == name:
            return preset
    raise NotFound(f"There is no algorithm {name}.")


@router.get("/algorithms/{name}/spec", openapi_extra=needs("read", "algorithms"))
async def starting_spec(
    name: Id,
    base: Annotated[str, Query(max_length=200, description="The model to train.")] = "",
    dataset: Annotated[str, Query(max_length=200, description="The dataset of its tasks.")] = "",
    environment: Annotated[str, Query(max_length=200, description="The environment that makes its tasks.")] = "",
) -> StartingSpec:
    """Return a complete spec of a preset to begin with. Refused (422) for a preset that no run can have yet."""
    return catalog.starting_spec(name, base, dataset, environment)


@router.get("/graders", openapi_extra=needs("read", "graders"))
async def graders() -> Page[Grader]:
    """List the kinds of graders with the JSON Schema of their parameters."""
    return Page(data=catalog.graders())


@router.get("/graders/activity", openapi_extra=needs("read", "graders"))
async def activity(caller: Caller) -> Page[GraderActivity]:
    """Sum the newest 10 000 grades by grader, component and status."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("grades.activity", limit=NEWEST_GRADES)
    return Page(data=[GraderActivity.model_validate(row) for row in rows])
