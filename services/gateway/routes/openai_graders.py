"""/v1/fine_tuning/alpha/graders: OpenAI's calls that check a grader and try it on one answer."""

import json
import time
from collections.abc import Mapping
from typing import Any

import grpc
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from hone.api import reward_pb2, reward_pb2_grpc
from hone.client.judge_resources import GraderTrial
from hone.graders.error_kinds import ErrorKind
from hone.graders.sample import Reads
from hone.graders.specs import Spec
from hone.rpc import errors
from hone.rpc.client import channel
from hone.rpc.tenancy import KEY, TENANT
from hone.spec.problems import Invalid, Problem, found, unstorable
from hone.spec.settings import Settings
from services.gateway.admission import graders
from services.gateway.admission.parameters import Config
from services.gateway.declarations import needs
from services.gateway.middleware.errors import Away
from services.gateway.middleware.tenancy import Caller, TenantSession

router = APIRouter(prefix="/v1/fine_tuning/alpha/graders", tags=["graders"])

_WITHIN_S = 150.0
_DETAILED = {ErrorKind.PYTHON_RUNTIME: "_details", ErrorKind.PYTHON_SERVER: "_type", ErrorKind.MODEL_SERVER: "_details"}
"""Kinds of errors beside which OpenAI's answer has a text, and the end of its field's name."""


NESTED = 100
"""Most levels of what is graded."""


class GraderToCheck(BaseModel):
    """A grader."""

    model_config = ConfigDict(extra="forbid")

    grader: dict[str, Any] = Field(description="JSON of a grader: OpenAI's, or a kind of docs/graders.md.")


class GraderToRun(GraderToCheck):
    """A grader with one answer."""

    model_sample: str = Field(description="The answer.")
    item: dict[str, Any] = Field(default_factory=dict, description="The row of the dataset.")


@router.post("/validate", openapi_extra=needs("run", "graders", {"grader": {"type": "exact"}}))
async def validated(asked: GraderToCheck, caller: Caller) -> dict[str, Any]:
    """Check a grader. It comes back untouched."""
    await graders.checked(caller, asked.grader)
    return {"grader": asked.grader}


@router.post("/run", openapi_extra=needs("run", "graders", {
    "grader": {"type": "exact"}, "model_sample": "2", "item": {"answer": "2"}}))
async def tried(asked: GraderToRun, caller: Caller, settings: Config) -> GraderTrial:
    """Grade one answer and store nothing."""
    grader, began = await graders.checked(caller, asked.grader), time.perf_counter()
    if grader.reads - {Reads.OUTPUT}:
        raise Invalid([of_more(grader)])
    if problems := unstorable({"model_sample": asked.model_sample, "item": asked.item}, deepest=NESTED):
        raise Invalid(problems)
    request = reward_pb2.RunGraderRequest(
        grader_json=grader.json, item_json=json.dumps(asked.item), output_text=asked.model_sample)
    grade = await graded(settings, caller, request)
    return answer(grader, grade, time.perf_counter() - began)


def of_more(grader: Spec) -> Problem:
    """Return the problem of a grader that cannot be tried on an answer alone."""
    return Problem("grader.type", found(grader.params.type), "a grader of single answers: this grader reads the "
                   f"{' and the '.join(sorted(grader.reads - {Reads.OUTPUT}))} of a stored sample, which POST "
                   "/v1/runs/{id}/grades has")


def answer(grader: Spec, grade: reward_pb2.Grade, seconds: float) -> GraderTrial:
    """Return a grade in OpenAI's form. Its reward is null where there is none: no reward is invented."""
    reward = grade.score if grade.HasField("score") else None
    tokens = dict(grade.tokens)
    whole = {} if reward is None else {grader.params.name or grader.params.type: reward}
    return GraderTrial(
        reward=reward, sub_rewards=dict(grade.components), model_grader_token_usage_per_model=tokens, metadata={
            "name": grader.params.name, "type": grader.params.type, "execution_time": seconds,
            "scores": dict(grade.components) or whole, "token_usage": sum(tokens.values()) if tokens else None,
            "sampled_model_name": next(iter(tokens), None), "errors": error_flags(grade.error, list(grade.reasons))},
        status=status_name(grade), reasons=list(grade.reasons), extracted=grade.extracted or None,
        decided_by=grade.decided_by, evidence=[json.loads(one) for one in grade.evidence_json])


def status_name(grade: reward_pb2.Grade) -> str:
    """Return the status of a grade as docs/graders.md names it."""
    return reward_pb2.GradeStatus.Name(grade.status).removeprefix("GRADE_STATUS_").lower()


def error_flags(kind: str, reasons: list[str]) -> Mapping[str, bool | str | None]:
    """Return one flag for each kind of error, with texts where OpenAI has them."""
    flags: dict[str, bool | str | None] = {}
    for one in ErrorKind:
        flags[one.value] = one.value == kind
        if one in _DETAILED:
            flags[one.value + _DETAILED[one]] = "; ".join(reasons) if one.value == kind else None
    return flags


async def graded(settings: Settings, caller: TenantSession, request: reward_pb2.RunGraderRequest) -> reward_pb2.Grade:
    """Return a grade that the reward service makes. Raises Away, and Invalid for a grader that it refuses."""
    try:
        async with channel(settings.addresses.reward, settings.stack_token) as connection:
            response = await reward_pb2_grpc.RewardServiceStub(connection).RunGrader(
                request, timeout=_WITHIN_S, metadata=((TENANT, caller.tenant_id), (KEY, caller.key_id)))
            return response.grade
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
            raise Invalid([Problem("grader", errors.reason(error), "a grader of single answers")]) from error
        raise Away(f"The reward service: {errors.reason(error)}. Ask again.") from error
