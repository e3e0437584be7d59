"""/v1/runs/…/trajectories: samples page by page from their index, one whole from its Parquet part."""

import asyncio
import re
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

from hone.client.resources import Grade, Page, Trajectory, TrajectoryRow
from hone.spec.problems import Invalid, Problem, found
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts
from hone.trajectory.records import PREVIEW
from services.gateway.errors import NotFound
from services.gateway.parameters import After, Id, Limit, Store
from services.gateway.runs import unknown
from services.gateway.tenancy import Caller

router = APIRouter(prefix="/v1/runs", tags=["trajectories"])

Purpose = Literal["train", "eval", "probe", "pilot"]
Number = Annotated[int, Path(ge=0, lt=2**63)]
_FIRST = (-1, -1)


@router.get("/{run_id}/trajectories")
async def listed(
    run_id: Id, caller: Caller, limit: Limit = 50, after: After = None, purpose: Purpose | None = None,
    step: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    status: Annotated[str | None, Query(description="Grade status.", pattern="^[a-z_]+$")] = None,
    min_score: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    max_score: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    text: Annotated[str | None, Query(
        description=f"Part of the last answer's first {PREVIEW} characters.", pattern="^[^\\x00]+$")] = None,
) -> Page[TrajectoryRow]:
    """List samples in the order of their groups."""
    group, index = _place(after)
    async with caller.transaction() as transaction:
        if await transaction.one("gateway.run_state", run_id=run_id) is None:
            raise unknown(run_id)
        rows = await transaction.all(
            "gateway.trajectories", run_id=run_id, after_group=group, after_index=index, purpose=purpose, step=step,
            status=status, min_score=min_score, max_score=max_score, text=text, limit=limit + 1)
    shown = [TrajectoryRow.model_validate(row) for row in rows[:limit]]
    more = f"{shown[-1].group_id}.{shown[-1].index}" if len(rows) > limit else None
    return Page(data=shown, next=more)


def _place(after: str | None) -> tuple[int, int]:
    if after is None:
        return _FIRST
    if not re.fullmatch(r"\d{1,18}\.\d{1,9}", after, re.ASCII):
        raise Invalid([Problem("query.after", found(after), "`next` of the page before")])
    group, _, index = after.partition(".")
    return int(group), int(index)


@router.get("/{run_id}/trajectories/{group_id}/{index}")
async def one(
    run_id: Id, group_id: Number, index: Annotated[int, Path(ge=0, lt=2**31)], caller: Caller, objects: Store,
) -> Trajectory:
    """Return one whole sample: task, every call with its exact tokens, steps, grades."""
    async with caller.transaction() as transaction:
        row = await transaction.one("gateway.trajectory", run_id=run_id, group_id=group_id, index=index)
        grades = await transaction.all("gateway.grades", group_id=group_id, index=index) if row else []
    if row is None:
        raise unknown_sample(run_id, group_id, index)
    whole = await asyncio.to_thread(read, objects, row["part"], row["row"])
    return Trajectory.model_validate({**row, **whole, "grades": [Grade.model_validate(grade) for grade in grades]})


def unknown_sample(run_id: str, group_id: int, index: int) -> NotFound:
    """Return the refusal of a place where this tenant has no sample."""
    return NotFound(f"Run {run_id} has no trajectory {group_id}/{index}.")


def read(objects: Objects, part: str, row: int) -> dict[str, Any]:
    """Return what a row of a Parquet part holds of a sample. Raises NotFound when the part is gone."""
    try:
        trajectory = asdict(parts.decode(objects.get(part))[row])
    except ObjectMissing:
        raise NotFound(f"The part {part}, which holds this trajectory, is not in the object store any more.") from None
    return {name: trajectory[name] for name in ("task", "task_hash", "item", "harness", "ended", "calls", "steps")}
