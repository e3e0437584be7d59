"""/v1/runs/{run_id}/curation: the graph of each task's rollouts, trajectories to imitate and tasks to train on."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from hone.algorithms.topocurate.curation import CurationParams
from hone.client.curation import Curation
from hone.resolution import scores
from hone.spec.run import RunSpec
from services.gateway import curations
from services.gateway.admission import runs as admission
from services.gateway.admission.parameters import Id, Store
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/runs", tags=["curation"])

Step = Annotated[int, Query(ge=0, lt=2**31)]


@router.get("/{run_id}/curation")
async def curation(
    run_id: Id, caller: Caller, objects: Store, first_step: Step = 0, last_step: Step = 2**31 - 1,
    groups: Annotated[int, Query(ge=1, le=curations.MOST_GROUPS, description="Newest groups that are read.")] = 64,
    success: Annotated[float, Query(gt=0, le=1, description="Share of the grader's range from which a sample "
                                    "succeeds.")] = 1.0,
    keep: Annotated[int, Query(ge=1, le=64, description="Trajectories that are selected of each task.")] = 2,
) -> Curation:
    """Return the tasks of the newest stored training groups of these steps, each with the graph of its rollouts."""
    async with caller.transaction() as transaction:
        spec = RunSpec.model_validate((await admission.row_of(transaction, run_id))["spec"])
        rows = await transaction.all("trajectories.newest", run_id=run_id, first_step=first_step, last_step=last_step,
                                     groups=groups + 1)
        known = list(dict.fromkeys(row["group_id"] for row in rows))
        shown = [row for row in rows if row["group_id"] in known[:groups]]
        texts = await transaction.all("prompts.texts", run_id=run_id,
                                      task_hashes=sorted({row["task_hash"] for row in shown}))
    low, high = scores.bounds(spec)
    tasks, complete = await run_in_threadpool(
        curations.make, objects, shown, {row["task_hash"]: row["text"] for row in texts},
        low + (high - low) * success - 1e-9, CurationParams(keep=keep))
    steps = [row["step"] for row in shown]
    return Curation(run_id=run_id, first_step=min(steps, default=0), last_step=max(steps, default=0),
                    truncated=not complete or len(known) > groups, tasks=tasks)
