"""/v1/runs/…/trajectories: samples as a list, one whole sample, and the text and advantages of its tokens."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

from hone.client.resources import CallTokens, Grade, Page, Trajectory, TrajectoryRow, TrajectoryTokens
from hone.store.database import Row
from hone.store.manifests import get_file
from hone.store.objects import ObjectMissing, Objects
from hone.text.files import FILES, TokenizerError
from hone.text.kept import KeptTexts
from hone.text.model_text import ModelText
from hone.trajectory import parts
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import PREVIEW
from services.gateway import advantages
from services.gateway.admission import text_files
from services.gateway.admission.parameters import AfterSample, Id, Limit, Store
from services.gateway.advantages import SampleAdvantages
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound, unknown_run
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/runs", tags=["trajectories"])

Purpose = Literal["train", "eval", "probe", "pilot"]
GroupId = Annotated[int, Path(ge=0, lt=2**63)]
Index = Annotated[int, Path(ge=0, lt=2**31)]

Manifests = dict[str, dict[str, Any] | None]
"""Manifest of a version by role, for the roles with a model of their own; None if no version is stored."""

_BEFORE_ALL = (-1, -1)
_KEPT, _IDLE_S = 4, 600.0
_texts_of_models = KeptTexts(_KEPT, _IDLE_S)
_UNTRAINED = SampleAdvantages(None, "no committed step trained on this sample")


@router.get("/{run_id}/trajectories", openapi_extra=needs("read", "samples"))
async def listed(
    run_id: Id, caller: Caller, limit: Limit = 50, after: AfterSample = None, purpose: Purpose | None = None,
    step: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    source: Annotated[str | None, Query(description="Source of the task, in a mixture.", max_length=64,
                                        pattern="^[^\\x00]+$")] = None,
    status: Annotated[str | None, Query(description="Grade status.", pattern="^[a-z_]+$")] = None,
    min_score: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    max_score: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    text: Annotated[str | None, Query(
        description=f"Part of the first {PREVIEW} characters of the last answer.", pattern="^[^\\x00]+$")] = None,
) -> Page[TrajectoryRow]:
    """List the samples of a run in the order of their groups."""
    group, index = _cursor(after)
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        rows = await transaction.all(
            "trajectories.page", run_id=run_id, after_group=group, after_index=index, purpose=purpose, step=step,
            source=source, status=status, min_score=min_score, max_score=max_score, text=text, limit=limit + 1)
    shown = [TrajectoryRow.model_validate(row) for row in rows[:limit]]
    more = f"{shown[-1].group_id}.{shown[-1].index}" if len(rows) > limit else None
    return Page(data=shown, next=more)


def _cursor(after: str | None) -> tuple[int, int]:
    """Return group and index of the last sample of the previous page."""
    if after is None:
        return _BEFORE_ALL
    group, _, index = after.partition(".")
    return int(group), int(index)


@router.get("/{run_id}/trajectories/{group_id}/{index}", openapi_extra=needs("read", "samples"))
async def one(run_id: Id, group_id: GroupId, index: Index, caller: Caller, objects: Store) -> Trajectory:
    """Return one whole sample: task, every call with its exact tokens, steps, grades."""
    async with caller.transaction() as transaction:
        row = await transaction.one("trajectories.one", run_id=run_id, group_id=group_id, index=index)
        grades = await transaction.all("grades.of_trajectory", group_id=group_id, index=index) if row else []
    if row is None:
        raise _unknown(run_id, group_id, index)
    whole = await asyncio.to_thread(_stored, objects, row)
    return Trajectory.model_validate({**row, **whole, "grades": [Grade.model_validate(grade) for grade in grades]})


@router.get("/{run_id}/trajectories/{group_id}/{index}/tokens", openapi_extra=needs("read", "samples"))
async def tokens(run_id: Id, group_id: GroupId, index: Index, caller: Caller, objects: Store) -> TrajectoryTokens:
    """Return the text of every token of a sample, and the advantage that its step gave each trained token."""
    place = {"run_id": run_id, "group_id": group_id}
    async with caller.transaction() as transaction:
        row = await transaction.one("trajectories.one", **place, index=index)
        versions = await transaction.all("versions.tokenizer_manifests", run_id=run_id)
        plan = await transaction.one("steps.plan_of_group", **place)
    if row is None:
        raise _unknown(run_id, group_id, index)
    manifests = {version["role"]: version["manifest"] for version in versions}
    given = _UNTRAINED if plan is None else await advantages.read(
        objects, StepPlan.model_validate(plan["plan"]), group_id, index)
    return await text_files.in_thread(_texts, objects, manifests, row, given)


def _unknown(run_id: str, group_id: int, index: int) -> NotFound:
    return NotFound(f"Run {run_id} has no trajectory {group_id}/{index}.")


def _stored(objects: Objects, row: Row) -> dict[str, Any]:
    """Return the fields of a sample that its Parquet part holds. Raises NotFound when the part is gone."""
    part = row["part"]
    try:
        trajectory = asdict(parts.decode(objects.get(part))[row["row"]])
    except ObjectMissing:
        raise NotFound(f"The part {part}, which holds this trajectory, is not in the object store any more.") from None
    return {name: trajectory[name] for name in ("task", "task_hash", "item", "harness", "ended", "calls", "steps")}


def _texts(objects: Objects, manifests: Manifests, row: Row, given: SampleAdvantages) -> TrajectoryTokens:
    """Return the text of a sample's calls; the tokenizer of a call is that of the model that answered it."""
    calls = _stored(objects, row)["calls"]
    answering = [call["role"] if call["role"] in manifests else "policy" for call in calls]
    tokenizers = {role: _tokenizer(objects, role, manifests[role]) for role in sorted(set(answering))}
    texts = [_call_tokens(tokenizers[role], call, own)
             for role, call, own in zip(answering, calls, given.of_calls(calls), strict=True)]
    return TrajectoryTokens(calls=texts, advantage=given.whole, advantage_note=given.note)


def _call_tokens(tokenizer: ModelText, call: dict[str, Any], own: list[float | None]) -> CallTokens:
    return CallTokens(prompt=tokenizer.pieces(call["prompt_ids"]), completion=tokenizer.pieces(call["completion_ids"]),
                      advantages=own)


def _tokenizer(objects: Objects, role: str, manifest: dict[str, Any] | None) -> ModelText:
    """Return the tokenizer of a role's model. Raises NotFound when it is not stored or cannot be read."""
    if manifest is None:
        raise NotFound(f"The run's {role} model has no stored version, so its tokens have no tokenizer.")
    entries = {name: manifest["files"][name] for name in FILES if name in manifest["files"]}
    try:
        return _texts_of_models.of(
            tuple((name, entry["sha256"]) for name, entry in entries.items()),
            lambda: {name: get_file(objects, entry) for name, entry in entries.items()})
    except (ObjectMissing, TokenizerError) as error:
        raise NotFound(f"A tokenizer of the run's models cannot be read: {error}") from None
