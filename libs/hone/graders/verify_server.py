"""A server of others gives the reward: one that speaks NeMo Gym's `/verify`."""

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from hone.graders.contract import (
    LONGEST_NAME,
    Bounds,
    Grader,
    GraderParams,
    InvalidSpec,
    Names,
    Needs,
    Result,
    Status,
    Tools,
    is_name,
)
from hone.graders.judge_answers import ask, unreadable
from hone.graders.judge_messages import answer_of
from hone.graders.questions import Reply, Submission
from hone.graders.responses import submission
from hone.graders.sample import Sample
from hone.spec import strict_json

_MOST, _SHOWN = 64, 20_000
"""Components of an answer, and its characters that are kept as evidence."""


class VerifyServerParams(GraderParams):
    """Choice of a server, the request to it, and the counted part of its answer."""

    type: Literal["verify_server"] = Field(description="Name of the grader.")
    server: str = Field(min_length=1, max_length=100, description="Name of a judge with the protocol verify, such "
                        "as `hone judges set` keeps.")
    fields: list[str] | dict[str, str] | None = Field(
        None, description="Fields of the row that are sent: their names, or the row's field by the name that the "
        "server knows. null: all of them.")
    range: list[float] = Field([0.0, 1.0], min_length=2, max_length=2, description="Smallest and largest reward; "
                               "a reward outside is an error of the server.")
    components: list[str] = Field(
        [], max_length=_MOST, description="Names of rewards that every answer has to have, in reward_components or "
        "beside the reward. Methods read them. Any other component of reward_components is stored, too.")
    reasoning: Literal["removed", "kept"] = Field(
        "removed", description="Blocks of reasoning in the output: removed: they are not sent, and an output whose "
        "last block is open has no answer; kept: they are sent.")

    @field_validator("range")
    @classmethod
    def _rising(cls, given: list[float]) -> list[float]:
        if not (all(map(math.isfinite, given)) and given[0] < given[1]):
            raise ValueError("a smaller number before a larger one")
        return given


async def grade_sample(sample: Sample, params: VerifyServerParams, tools: Tools) -> Result:
    """Return the server's reward as the score, with its components.

    Raises NoAnswer, InvalidSpec for a row without a field, and JudgeFailed where the server gives no reward. One that
    is not finite, or outside the range, is a defect of the server: there is no score.
    """
    answer = sample.output if params.reasoning == "kept" else answer_of(sample)
    sent = _sent(sample, params, answer)
    reply = await ask(tools, Submission(params.server, sent))
    given = _answered(reply)
    reward, components = _number(given.get("reward"), "reward", reply), _components(given, params, reply)
    evidence = ({"judge": params.server, "model": reply.model, "asked": [{"role": "user", "content": json.dumps(
        sent, ensure_ascii=False)}], "answered": reply.text[:_SHOWN]},)
    wrong = _outside(reward, components, params)
    if wrong:
        return Result(Status.INVALID_SPEC, None, reasons=(wrong,), decided_by="invalid_spec", evidence=evidence)
    return Result(Status.OK, reward, components, extracted=answer, decided_by="verify_server", evidence=evidence,
                  reasons=tuple(_reasons(given)))


def _sent(sample: Sample, params: VerifyServerParams, answer: str) -> dict[str, Any]:
    fields = {name: name for name in params.fields} if isinstance(params.fields, list) else params.fields
    try:
        return submission(sample.item, answer, fields)
    except KeyError as error:
        raise InvalidSpec(f"invalid_variable_error: item.{error.args[0]} is not in the task row") from None


def _answered(reply: Reply) -> dict[str, Any]:
    try:
        given = json.loads(reply.text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise unreadable(reply, "expected a JSON object")
    return given


def _components(given: Mapping[str, Any], params: VerifyServerParams, reply: Reply) -> dict[str, float]:
    """Return the components: those of the answer's field, and those that the params name."""
    listed = given.get("reward_components")
    if listed is not None and not isinstance(listed, dict):
        raise unreadable(reply, "expected reward_components with numbers by name")
    if not all(map(is_name, listed or {})):
        raise unreadable(reply, f"expected names of 1 to {LONGEST_NAME} characters in reward_components")
    if len(listed or {}) > _MOST:
        raise unreadable(reply, f"expected at most {_MOST} reward_components")
    found = {name: value for name in params.components if (value := given.get(name)) is not None} | (listed or {})
    if lacking := [name for name in params.components if name not in found]:
        raise unreadable(reply, f"expected a reward {lacking[0]!r} in reward_components")
    return {name: _number(value, f"reward_components.{name}", reply) for name, value in found.items()}


def _number(value: object, field: str, reply: Reply) -> float:
    """Return a number as it came, finite or not. Raises JudgeFailed for what is none."""
    if (number := strict_json.number(value)) is None:
        raise unreadable(reply, f"expected a number in {field}")
    return number


def _outside(reward: float, components: Mapping[str, float], params: VerifyServerParams) -> str:
    """Return the fault of a reward; nothing where it is finite and in the range."""
    low, high = params.range
    for name, value in components.items():
        if not math.isfinite(value):
            return f"reward_components.{name}: found {value}, expected a finite number"
    if math.isfinite(reward) and low <= reward <= high:
        return ""
    return f"reward: found {reward:g}, expected a number from {low:g} to {high:g}"


def _reasons(given: Mapping[str, Any]) -> list[str]:
    """Return why the server doubts a reward that it counts, where it says so."""
    return [f"{name}: {given[name]}"[:500] for name in ("failure_kind", "failure_reason") if given.get(name)]


def bounds(params: VerifyServerParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return the range."""
    return params.range[0], params.range[1]


def columns(params: VerifyServerParams) -> Names:
    """Return the row's fields that are sent, where they are named."""
    return frozenset(params.fields.values() if isinstance(params.fields, dict) else params.fields or ())


def components(params: VerifyServerParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return the names that every answer has."""
    return frozenset(params.components)


GRADER = Grader(VerifyServerParams, grade_sample=grade_sample, bounds=bounds, components=components,
                columns=columns, needs=frozenset({Needs.VERIFIER}), limit_s=120.0)
