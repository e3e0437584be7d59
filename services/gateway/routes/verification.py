"""/v1/graders/stored/…/verify: a stored grader as a resources server of NeMo Gym (nemo_gym/base_resources_server.py).

Their rule at this border: where the system failed there is an error, and no reward.
"""

import json
import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from hone.api import reward_pb2
from hone.client.judge_resources import Verified
from hone.environments import row_json
from hone.graders import responses, specs
from hone.graders.sample import Reads
from hone.graders.specs import Spec
from hone.spec.problems import Invalid, Problem, unstorable
from services.gateway.admission.parameters import Config, Id
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound, NotGraded
from services.gateway.middleware.tenancy import Caller, TenantSession
from services.gateway.routes.openai_graders import NESTED, graded, status_name

router = APIRouter(prefix="/v1/graders/stored/{name}", tags=["graders"])

Hash = Annotated[str | None, Query(description="Of a certain content, which the name meant once.")]

_UNHELD = {Reads.CONVERSATION: "a whole conversation", Reads.GROUP: "a whole group", Reads.WORLD: "the world's states"}
"""Readings of a grader that no submission holds."""


class Submitted(BaseModel):
    """A task's row with an answer to it."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: dict[str, Any] = Field(description="How the model was asked, in OpenAI's Responses.")
    response: dict[str, Any] = Field(description="The answer: a Responses object. All other fields are the row.")


_LACKING = re.compile(r"invalid_variable_error: item\.(?P<field>\S+) is not in the task row")


class Session(BaseModel):
    """First observation of a session; nothing of it is kept."""

    model_config = ConfigDict(extra="allow")

    resources_session_id: str | None = None


@router.post("/verify", openapi_extra=needs("run", "stored graders", {
    "responses_create_params": {"input": "1 + 1 ="}, "response": {"output": [{"type": "message",
    "role": "assistant", "content": [{"type": "output_text", "text": "2"}]}]}, "answer": "2"}))
async def verify(name: Id, submitted: Submitted, caller: Caller, settings: Config, hash: Hash = None) -> Verified:
    """Grade an answer. What was sent comes back with `reward` and `reward_components`; 503: there is no reward."""
    grader, item = await _stored(caller, name, hash), submitted.model_extra or {}
    for read in sorted(grader.reads & _UNHELD.keys()):
        raise Invalid([Problem("name", name, f"a grader of single answers: this grader reads {_UNHELD[read]}")])
    if problems := unstorable(submitted.model_dump(), deepest=NESTED):
        raise Invalid(problems)
    answer = responses.text_of(submitted.response)
    grade = await graded(settings, caller, reward_pb2.RunGraderRequest(
        grader_json=grader.json, item_json=json.dumps(item), output_text=answer))
    if not grade.HasField("score"):
        raise _ungraded(grade)
    components = dict(grade.components)
    return Verified.model_validate({**components, **submitted.model_dump(), "reward": grade.score,
                                    "reward_components": components})


@router.post("/seed_session", openapi_extra=needs("run", "stored graders", {"resources_session_id": "1"}))
async def seed_session(
    name: Id, caller: Caller, session: Session = Session(), hash: Hash = None,
) -> dict[str, str]:
    """Begin a session: there is nothing to seed, because each submission holds all that is graded."""
    await _stored(caller, name, hash)
    return {} if session.resources_session_id is None else {"resources_session_id": session.resources_session_id}


@router.get("/reverify_mode", openapi_extra=needs("read", "stored graders"))
async def reverify_mode(name: Id, caller: Caller, hash: Hash = None) -> Literal["stateless", "unsupported"]:
    """Say whether submissions can be graded again: not where the grader reads what no submission holds."""
    grader = await _stored(caller, name, hash)
    return "unsupported" if grader.reads & _UNHELD.keys() else "stateless"


async def _stored(caller: TenantSession, name: str, hash: str | None) -> Spec:
    async with caller.transaction() as transaction:
        row = await transaction.one("stored_graders.one", tenant_id=caller.tenant_id, name=name, hash=hash)
    if row is None:
        raise NotFound(f"There is no grader {name!r}{f' with the hash {hash}' if hash else ''}.")
    return specs.checked(row_json.plain(row_json.read(row["grader"])), "grader")


def _ungraded(grade: reward_pb2.Grade) -> NotGraded | Invalid:
    """Return why there is no reward: the row's fault, or the system's."""
    status, reasons = status_name(grade), "; ".join(grade.reasons)
    if status == "invalid_spec":
        lacking = _LACKING.search(reasons)
        return Invalid([Problem(lacking["field"] if lacking else "body", reasons, "a row that the grader can read")])
    return NotGraded(f"There is no reward ({status}): {reasons}",
                     {"status": status, "error": grade.error, "reasons": list(grade.reasons)})
