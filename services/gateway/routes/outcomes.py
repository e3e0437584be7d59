"""/v1/runs/…/outcomes: what a run's policy achieved on each prompt, group by group."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from hone.api import value_pb2
from hone.client.collection_resources import PromptOutcome, PromptOutcomes
from hone.spec.problems import Invalid, Problem, found
from hone.text.conversation import PROMPT_CHARACTERS
from services.gateway.admission.parameters import Id, Limit, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import unknown_run
from services.gateway.middleware.tenancy import Caller, TenantSession
from services.gateway.openai.calls import EngineCalls
from services.gateway.routes.trajectories import Purpose

router = APIRouter(prefix="/v1/runs/{run_id}/outcomes", tags=["runs"])

AfterGroup = Annotated[str | None, after(r"[0-9]{1,18}")]


@router.get("", openapi_extra=needs("read", "outcomes"))
async def outcomes(
    request: Request, run_id: Id, caller: Caller, limit: Limit = 100, after: AfterGroup = None,
    purpose: Purpose | None = None, step: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    prompt: Annotated[str | None, Query(
        description="Content hash of a task.", pattern="^[0-9a-f]+$", max_length=64)] = None,
    version: Annotated[str | None, Query(
        description="Id of a version: only groups that exactly this version sampled.", pattern="^[^\\x00]+$",
        max_length=64)] = None,
    similar_to: Annotated[str | None, Query(
        description="A text: the prompts nearest to it come first, each with its newest group.", min_length=1,
        max_length=PROMPT_CHARACTERS, pattern="^[^\\x00]+$")] = None,
) -> PromptOutcomes:
    """List the groups that a step or an evaluation of a run used, each with its prompt and mean score, oldest first.

    Groups without a score are left out.
    """
    chosen = {"run_id": run_id, "purpose": purpose, "step": step, "version_id": version}
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        if similar_to is None:
            rows = await transaction.all("prompts.outcomes", **chosen, after=int(after or 0), task_hash=prompt,
                                         limit=limit + 1)
            plain = page([PromptOutcome.model_validate(row) for row in rows], limit, "id")
            return PromptOutcomes(data=plain.data, next=plain.next)
    if alone := [Problem(f"query.{name}", found(given), "nothing beside similar_to")
                 for name, given in (("after", after), ("prompt", prompt)) if given is not None]:
        raise Invalid(alone)
    return await _similar(request.app.state.asking.calls, caller, chosen, similar_to, limit)


async def _similar(
    calls: EngineCalls, caller: TenantSession, chosen: Mapping[str, Any], text: str, limit: int
) -> PromptOutcomes:
    """Return the prompts nearest to a text, each with the newest of the chosen groups."""
    named = {name: value for name, value in chosen.items() if value is not None}
    near = await calls.nearest(caller, value_pb2.NearestRequest(text=text, most=limit, **named))
    cosines = {one.task_hash: one.cosine for one in near.neighbours}
    async with caller.transaction() as transaction:
        rows = await transaction.all("prompts.newest_outcomes", **chosen, task_hashes=list(cosines))
    by_task = {row["task_hash"]: PromptOutcome(**row, similarity=cosines[row["task_hash"]]) for row in rows}
    return PromptOutcomes(data=[by_task[task] for task in cosines if task in by_task], compared=near.compared,
                          left_out=near.left_out)
