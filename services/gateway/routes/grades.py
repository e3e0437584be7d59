"""/v1/runs/…/grades: stored samples graded again by any grader, beside the grades that the run learnt from."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from hone.api import reward_pb2, reward_pb2_grpc
from hone.client.grade_resources import Regrade, Regrades
from hone.graders.sample import Reads, Sent, sent
from hone.graders.specs import Spec
from hone.harnesses import HARNESSES
from hone.harnesses.spans import named
from hone.rpc import errors
from hone.rpc.client import channel
from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from hone.store.database import Row
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts
from services.gateway.admission import graders
from services.gateway.admission.parameters import Config, Id, Store
from services.gateway.middleware.errors import Away, NotFound, unknown_run
from services.gateway.middleware.tenancy import Caller
from services.gateway.routes.openai_graders import status_name
from services.gateway.routes.trajectories import Purpose

router = APIRouter(tags=["trajectories"])

_WITHIN_S = 45.0


class NewGrades(BaseModel):
    """Which samples of a run are graded again, and how."""

    model_config = ConfigDict(extra="forbid", strict=True)

    grader: dict[str, Any] = Field(description="JSON of a grader; one that reads no worlds.")
    purpose: Purpose | None = Field(None, description="Only groups of this purpose; null: all.")
    limit: int = Field(20, ge=1, le=100, description="Most groups at a time.")
    after: int = Field(0, ge=0, lt=2**63, description="`next` of the answer before; 0: from the first group on.")


@router.post("/v1/runs/{run_id}/grades")
async def again(run_id: Id, wanted: NewGrades, caller: Caller, objects: Store, settings: Config) -> Regrades:
    """Grade stored samples of a run by another grader, group after group.

    The new grades are stored beside the first ones and change nothing that the run learnt. A repeated request answers
    with the stored ones.
    """
    grader = _of_stored(await graders.checked(caller, wanted.grader))
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        groups = await transaction.all("groups.stored", run_id=run_id, after=wanted.after, purpose=wanted.purpose,
                                       limit=wanted.limit + 1)
        shown = groups[:wanted.limit]
        rows = await transaction.all("trajectories.of_groups", group_ids=[group["id"] for group in shown])
    samples = await asyncio.to_thread(_samples, objects, {group["id"]: group for group in shown}, rows, grader)
    items = [reward_pb2.GradeItem(
        group_id=row["group_id"], index=row["index"], item_json=one.item, output_text=one.output,
        truncated=one.truncated, conversation_json=one.conversation) for row, one in zip(rows, samples, strict=True)]
    grades = await _graded(settings, reward_pb2.GradeRequest(
        tenant_id=caller.tenant_id, run_id=run_id, grader_json=grader.json, again=True, items=items))
    return Regrades(grader_hash=grader.hash, next=shown[-1]["id"] if len(groups) > wanted.limit else None, data=[
        _regrade(row, grade) for row, grade in zip(rows, grades, strict=True)])


def _of_stored(grader: Spec) -> Spec:
    """Return a grader that stored samples are enough for. Raises Invalid for one that reads worlds."""
    if Reads.WORLD in grader.reads:
        raise Invalid([Problem("grader.type", f'"{grader.params.type}"', "a grader that reads no worlds: states of "
                               "environments are not stored")])
    return grader


def _samples(objects: Objects, groups: Mapping[int, Row], rows: Sequence[Row], grader: Spec) -> list[Sent]:
    """Return what the grader reads of each row's sample. Raises NotFound where a part is gone."""
    stored, found = dict[str, Any](), list[Sent]()
    for row in rows:
        if row["part"] not in stored:
            try:
                stored[row["part"]] = parts.decode(objects.get(row["part"]))
            except ObjectMissing:
                raise NotFound(f"The part {row['part']}, which holds samples of group {row['group_id']}, is not in the "
                               "object store any more.") from None
        one, group = stored[row["part"]][row["row"]], groups[row["group_id"]]
        found.append(sent(one.calls, one.steps, one.ended, json.dumps(one.item), grader.reads, named(_marks(group))))
    return found


def _marks(group: Row) -> Any:
    """Return the spans that a group's harness names; none where this gateway does not know the harness."""
    harness = HARNESSES.get(group["harness"])
    return harness.params.model_validate(group["harness_params"] or {}).spans if harness else []


async def _graded(settings: Settings, request: reward_pb2.GradeRequest) -> Sequence[reward_pb2.Grade]:
    if not request.items:
        return []
    try:
        async with channel(settings.addresses.reward, settings.stack_token) as connection:
            response = await reward_pb2_grpc.RewardServiceStub(connection).Grade(request, timeout=_WITHIN_S)
    except grpc.aio.AioRpcError as error:
        raise Away(f"The reward service: {errors.reason(error)}. Grades that were made are kept: ask again, or for "
                   "fewer groups.") from error
    return list(response.grades)


def _regrade(row: Row, grade: reward_pb2.Grade) -> Regrade:
    return Regrade(
        group_id=row["group_id"], index=row["index"], first_status=row["status"], first_score=row["score"],
        status=status_name(grade), score=grade.score if grade.HasField("score") else None,
        components=dict(grade.components), reasons=list(grade.reasons),
        turns={turn.call: dict(turn.scores) for turn in grade.turns})
