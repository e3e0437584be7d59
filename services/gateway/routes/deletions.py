"""DELETE of runs, models, datasets, exports and checkpoints, and /v1/deletions: how far each is.

Every deletion answers 202 while rows are being removed, and 200 with the same body once they are gone. A repeated
request changes nothing.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from hone.client.deletion_resources import Deletion, ModelDeletion
from hone.client.resources import Page
from services.gateway.admission import deletions
from services.gateway.admission.parameters import Id, Limit, after
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller

router = APIRouter(tags=["deletions"])

AfterDeleted = Annotated[str | None, after(r"(run|art|op|ver)_\w+(-samples)?")]

Force = Annotated[bool, BeforeValidator(lambda given: True if given == "" else given), Query(
    description="Cancel the run first if it has not ended.")]

_DONE: dict[int | str, dict[str, Any]] = {200: {"model": Deletion, "description": "Its rows are gone."}}


def _answer(response: Response, found: Deletion) -> Deletion:
    if found.state == "deleted":
        response.status_code = 200
    return found


@router.delete("/v1/runs/{run_id}", status_code=202, responses=_DONE, openapi_extra=needs("run", "runs"))
async def run(run_id: Id, caller: Caller, response: Response, force: Force = False) -> Deletion:
    """Delete a run with its samples, metrics, events, checkpoints and exports. Its usage stays.

    A run that has not ended is refused (409) without `force`, and so is one from whose versions an open run started.
    """
    return _answer(response, await deletions.run(caller, run_id, force))


@router.delete("/v1/runs/{run_id}/samples", status_code=202, responses=_DONE, openapi_extra=needs("run", "samples"))
async def samples(run_id: Id, caller: Caller, response: Response) -> Deletion:
    """Delete the samples and grades of a run that has ended. Its metrics, steps, events and checkpoints stay."""
    return _answer(response, await deletions.samples(caller, run_id))


@router.delete("/v1/runs/{run_id}/checkpoints/{version_id}", status_code=202, responses=_DONE,
               openapi_extra=needs("run", "checkpoints"))
async def checkpoint(run_id: Id, version_id: Id, caller: Caller, response: Response) -> Deletion:
    """Delete the weights of a version. Its line stays in the list of checkpoints, as not stored.

    Refused (409) while something needs them: the open run itself, a run that started from them, a group, an export.
    """
    return _answer(response, await deletions.checkpoint(caller, run_id, version_id))


@router.delete("/v1/exports/{export_id}", status_code=202, responses=_DONE, openapi_extra=needs("run", "exports"))
async def export(export_id: Id, caller: Caller, response: Response) -> Deletion:
    """Delete an export and its files. The version can be exported again."""
    return _answer(response, await deletions.export(caller, export_id))


@router.delete("/v1/models/{name:path}", status_code=202, responses={
    200: {"model": ModelDeletion, "description": "Its rows are gone."}}, openapi_extra=needs("run", "models"))
async def model(name: Id, caller: Caller, response: Response) -> ModelDeletion:
    """Delete a registered model. An open run that uses it refuses this (409).

    Its name is free at once. Its files stay as long as a run that started from it is stored.
    """
    found = _answer(response, await deletions.artifact(caller, "base_model", name))
    return ModelDeletion(**found.model_dump())


@router.delete("/v1/datasets/{name:path}", status_code=202, responses=_DONE, openapi_extra=needs("run", "datasets"))
async def dataset(name: Id, caller: Caller, response: Response) -> Deletion:
    """Delete a dataset. An open run that uses it refuses this (409)."""
    return _answer(response, await deletions.artifact(caller, "dataset", name))


@router.get("/v1/deletions", openapi_extra=needs("read", "deletions"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterDeleted = None) -> Page[Deletion]:
    """List deletions, newest first."""
    return await deletions.listed(caller, limit, after)


@router.get("/v1/deletions/{subject_id}", openapi_extra=needs("read", "deletions"))
async def one(subject_id: Id, caller: Caller) -> Deletion:
    """Return the deletion of what had this id or name."""
    return await deletions.one(caller, subject_id)
