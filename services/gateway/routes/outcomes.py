"""/v1/runs/…/outcomes: what a run's policy achieved on each prompt, group by group."""

from typing import Annotated

from fastapi import APIRouter, Query

from hone.client.collection_resources import PromptOutcome
from hone.client.resources import Page
from services.gateway.admission.parameters import AfterGroup, Id, Limit, page
from services.gateway.middleware.errors import unknown_run
from services.gateway.middleware.tenancy import Caller
from services.gateway.routes.trajectories import Purpose

router = APIRouter(prefix="/v1/runs/{run_id}/outcomes", tags=["runs"])


@router.get("")
async def outcomes(
    run_id: Id, caller: Caller, limit: Limit = 100, after: AfterGroup = None, purpose: Purpose | None = None,
    step: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    prompt: Annotated[str | None, Query(
        description="Content hash of a task.", pattern="^[0-9a-f]+$", max_length=64)] = None,
) -> Page[PromptOutcome]:
    """List the groups that a step or an evaluation of a run used, each with its prompt and mean score, oldest first.

    Groups without a score are left out.
    """
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        rows = await transaction.all("prompts.outcomes", run_id=run_id, after=int(after or 0), purpose=purpose,
                                     step=step, task_hash=prompt, limit=limit + 1)
    return page([PromptOutcome.model_validate(row) for row in rows], limit, "id")
