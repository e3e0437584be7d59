"""/v1/runs/…/grades: stored samples graded again by any grader, beside the grades that the run learnt from."""

from typing import Any

import grpc
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from hone.api import reward_pb2, reward_pb2_grpc
from hone.client.grade_resources import Regrade, Regrades
from hone.rpc import errors
from hone.rpc.client import channel
from hone.spec.settings import Settings
from services.gateway.admission import graders
from services.gateway.admission.parameters import Config, Id
from services.gateway.declarations import needs
from services.gateway.middleware.errors import Away, NotFound, unknown_run
from services.gateway.middleware.tenancy import Caller
from services.gateway.routes.openai_graders import status_name
from services.gateway.routes.trajectories import Purpose

router = APIRouter(tags=["trajectories"])

_WITHIN_S = 45.0


class NewGrades(BaseModel):
    """Choice of samples of a run to grade again, and how."""

    model_config = ConfigDict(extra="forbid", strict=True)

    grader: dict[str, Any] = Field(description="JSON of a grader. For a grader that reads worlds, the recorded "
                                   "actions are taken again.")
    purpose: Purpose | None = Field(None, description="Only groups of this purpose; null: all.")
    limit: int = Field(20, ge=1, le=100, description="Most groups at a time.")
    after: int = Field(0, ge=0, lt=2**63, description="`next` of the answer before; 0: from the first group on.")


@router.post("/v1/runs/{run_id}/grades",
             openapi_extra=needs("run", "samples", {"grader": {"type": "exact"}, "limit": 20}))
async def again(run_id: Id, wanted: NewGrades, caller: Caller, settings: Config) -> Regrades:
    """Grade stored samples of a run by another grader, group after group.

    The new grades are stored beside the first ones and change nothing that the run learnt. A repeated request answers
    with the stored ones.
    """
    grader = await graders.checked(caller, wanted.grader)
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
    found = await _reverified(settings, reward_pb2.ReverifyRequest(
        tenant_id=caller.tenant_id, run_id=run_id, grader_json=grader.json, purpose=wanted.purpose, limit=wanted.limit,
        after=wanted.after))
    return Regrades(grader_hash=found.grader_hash, next=found.next or None, data=list(map(_regrade, found.samples)))


async def _reverified(settings: Settings, request: reward_pb2.ReverifyRequest) -> reward_pb2.ReverifyResponse:
    try:
        async with channel(settings.addresses.reward, settings.stack_token) as connection:
            return await reward_pb2_grpc.RewardServiceStub(connection).Reverify(request, timeout=_WITHIN_S)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            raise NotFound(errors.reason(error)) from error
        raise Away(f"The reward service: {errors.reason(error)}. Grades that were made are kept: ask again, or for "
                   "fewer groups.") from error


def _regrade(one: reward_pb2.Reverified) -> Regrade:
    grade = one.grade
    return Regrade(
        group_id=one.group_id, index=one.index,
        first_status=reward_pb2.GradeStatus.Name(one.first_status).removeprefix("GRADE_STATUS_").lower(),
        first_score=one.first_score if one.HasField("first_score") else None,
        status=status_name(grade), score=grade.score if grade.HasField("score") else None,
        components=dict(grade.components), reasons=list(grade.reasons),
        turns={turn.call: dict(turn.scores) for turn in grade.turns})
