"""/v1/runs/{run_id}/curation: the graph of each task's rollouts, trajectories to imitate and tasks to train on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from hone.algorithms.topocurate.curation import CurationParams
from hone.client.curation import Curation, SavedManifest
from hone.resolution import scores
from hone.spec.run import RunSpec
from hone.store.database import Row
from services.gateway import curations
from services.gateway.admission import manifests
from services.gateway.admission import runs as admission
from services.gateway.admission.parameters import Id, Store
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller, TenantSession

router = APIRouter(prefix="/v1/runs", tags=["curation"])

Step = Annotated[int, Query(ge=0, lt=2**31)]



Groups = Annotated[int, Query(ge=1, le=curations.MOST_GROUPS, description="Newest groups that are read.")]
Success = Annotated[float, Query(gt=0, le=1, description="Share of the grader's range from which a sample succeeds.")]


@router.get("/{run_id}/curation", openapi_extra=needs("read", "curations"))
async def curation(
    run_id: Id, caller: Caller, objects: Store, first_step: Step = 0, last_step: Step = 2**31 - 1, groups: Groups = 64,
    success: Success = 1.0,
    keep: Annotated[int, Query(ge=1, le=64, description="Trajectories that are selected of each task.")] = 2,
) -> Curation:
    """Return the tasks of the newest stored training groups of these steps, each with the graph of its rollouts."""
    found = await _read(caller, run_id, (first_step, last_step), groups, success)
    tasks, complete = await run_in_threadpool(
        curations.make, objects, found.rows, found.prompts, found.success_at, CurationParams(keep=keep))
    steps = [row["step"] for row in found.rows]
    return Curation(run_id=run_id, first_step=min(steps, default=0), last_step=max(steps, default=0),
                    truncated=found.truncated or not complete, tasks=tasks)


@router.post("/{run_id}/curation", status_code=201, openapi_extra=needs("run", "curations"))
async def save(
    run_id: Id, caller: Caller, objects: Store, first_step: Step = 0, last_step: Step = 2**31 - 1, groups: Groups = 64,
    success: Success = 1.0,
) -> SavedManifest:
    """Save what the same request with GET finds of each task, as a manifest by which other runs draw their tasks."""
    found = await _read(caller, run_id, (first_step, last_step), groups, success)
    entries = await run_in_threadpool(curations.entries, objects, found.rows, found.success_at)
    async with caller.transaction() as transaction:
        await transaction.one("runs.lock_row", run_id=run_id)
        version = await manifests.save(transaction, caller, run_id, entries)
    return SavedManifest(run_id=run_id, version=version, tasks=len(entries), usable=sum(one.usable for one in entries))


@dataclass(frozen=True)
class _Found:
    """Rows of the samples that are curated, and what is read beside them."""

    rows: Sequence[Row]
    prompts: Mapping[str, str]  # by content hash
    success_at: Mapping[str, float]  # by source
    truncated: bool


async def _read(caller: TenantSession, run_id: str, steps: tuple[int, int], groups: int, success: float) -> _Found:
    async with caller.transaction() as transaction:
        spec = RunSpec.model_validate((await admission.row_of(transaction, run_id))["spec"])
        rows = await transaction.all("trajectories.newest", run_id=run_id, first_step=steps[0], last_step=steps[1],
                                     groups=groups + 1)
        known = list(dict.fromkeys(row["group_id"] for row in rows))
        kept = set(known[:groups])
        shown = [row for row in rows if row["group_id"] in kept]
        texts = await transaction.all("prompts.texts", run_id=run_id,
                                      task_hashes=sorted({row["task_hash"] for row in shown}))
    low, high = scores.bounds(spec)
    success_at = dict.fromkeys((row["source"] for row in shown), low + (high - low) * success - 1e-9)
    return _Found(shown, {row["task_hash"]: row["text"] for row in texts}, success_at, len(known) > groups)
