"""The tool calls of an answer beside those of the reference: how many, which tools, and with which arguments."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from hone.environments.tools import ToolCall
from hone.environments.written_calls import written_calls
from hone.graders.contract import (
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    NoReference,
    Result,
    RightOutput,
    Status,
    own_names,
)
from hone.graders.fields import EXACT, Compared, Tolerance, compared, differences, share
from hone.graders.formats import shown
from hone.graders.sample import Item
from hone.graders.schemas import breaches, validator
from hone.graders.templates import Template, of_row, rendered
from hone.graders.variables import tools_of
from hone.spec import strict_json
from hone.text.conversation import Tools

NAMES = ("called", "parse", "name", "schema", "arguments")


class ToolCallParams(GraderParams):
    """Right calls."""

    type: Literal["tool_call"] = Field(description="Name of the grader.")
    reference: Template = Field(
        "{{ item.answer }}", description="JSON of the right call, or of the list of them: {\"name\": …, \"arguments\": "
        "{…}}, or OpenAI's form. An empty list: no call is right.")
    tools: list[dict[str, Any]] | None = Field(
        None, description="Tools in OpenAI's format; arguments have to follow their schemas. null: the row's field "
        "tools, if there is such a field.")
    ordered: bool = Field(True, description="Whether the calls have an order.")
    compare: Tolerance = Field(EXACT, description="Which arguments are equal.")
    score: Literal["all", "fraction"] = Field(
        "all", description="all: 1 if nothing is wrong; fraction: the share of equal arguments, in calls of the right "
        "tool that follow its schema.")

    @field_validator("tools")
    @classmethod
    def _readable(cls, given: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        if given is not None:
            if tools_of(given) is None:
                raise ValueError("tools in OpenAI's format: {\"type\": \"function\", \"function\": {\"name\": …}}")
            for tool in tools_of(given) or ():
                validator(_schema(tool))
        return given


@dataclass(frozen=True)
class _Pair:
    """A call of the answer and the one of the reference beside it, with what is wrong."""

    named: bool
    broken: tuple[str, ...]  # where the arguments break the tool's schema
    fields: tuple[Compared, ...]

    @property
    def equal(self) -> float:
        return share(self.fields) if self.named else 0.0


def grade(item: Item, output_text: str, params: ToolCallParams) -> Result:
    """Score 1 for the reference's calls, or the share of what is equal. The components are `NAMES`: 1 is right."""
    tools = tools_of(item.get("tools") if params.tools is None else params.tools)
    wanted = _wanted(rendered(params.reference, item, output_text))
    found = written_calls(output_text, tools)
    pairs = _pairs([call for call in found if call.tool is not None], wanted, params, tools)
    most = max(len(found), len(wanted))
    counted = [float(len(found) == len(wanted)), *(
        sum(values) / most if most else 1.0 for values in (
            [call.tool is not None for call in found], [pair.named for pair in pairs],
            [not pair.broken for pair in pairs], [pair.equal for pair in pairs]))]
    fraction = sum(pair.equal for pair in pairs if not pair.broken) / most if most else 1.0
    score = fraction if params.score == "fraction" else float(all(value == 1 for value in counted))
    reasons = [*_miscounted(found, wanted), *(reason for pair in pairs for reason in _wrong(pair))]
    return Result(Status.OK, score, dict(zip(NAMES, counted, strict=True)), shown(reasons, 20),
                  json.dumps([json.loads(call.action()) for call in found], ensure_ascii=False), "tool_call")


def _wanted(text: str) -> list[ToolCall]:
    """Return the calls of a reference. Raises InvalidSpec where it is none."""
    try:
        value = strict_json.read(text)
    except ValueError as error:
        raise InvalidSpec(f"other_error: the reference is not JSON: {error}") from error
    calls = [call for one in (value if isinstance(value, list) else [value])
             for call in written_calls(json.dumps(one), None) or [ToolCall(None, {"text": json.dumps(one)})]]
    for call in calls:
        if call.tool is None:
            raise InvalidSpec(f"other_error: the reference has {call.arguments['text'][:200]}, expected a call with a "
                              "name and arguments")
    return calls


def _pairs(found: Sequence[ToolCall], wanted: Sequence[ToolCall], params: ToolCallParams, tools: Tools | None
           ) -> list[_Pair]:
    if params.ordered:
        return [_pair(call, right, params, tools) for call, right in zip(found, wanted, strict=False)]
    rest, made = list(found), list[_Pair]()
    for right in _rarest_first(found, wanted):
        if rest:
            tried = [_pair(call, right, params, tools) for call in rest]
            best = max(range(len(rest)), key=lambda place: (tried[place].equal, tried[place].named, -place))
            made.append(tried[best])
            del rest[best]
    return made


def _rarest_first(found: Sequence[ToolCall], wanted: Sequence[ToolCall]) -> list[ToolCall]:
    """Return the reference's calls, those of tools that the answer calls least first: no other takes their match."""
    named = [call.tool for call in found]
    return sorted(wanted, key=lambda call: named.count(call.tool) or len(named) + 1)


def _pair(call: ToolCall, right: ToolCall, params: ToolCallParams, tools: Tools | None) -> _Pair:
    schema = next((_schema(tool) for tool in tools or () if tool["function"]["name"] == call.tool), None)
    broken = () if schema is None else shown(breaches(schema, call.arguments))
    if call.tool != right.tool:
        return _Pair(False, broken, (Compared("", 1, f"wrong_tool_name: found {call.tool}, expected {right.tool}"),))
    return _Pair(True, broken, tuple(compared(call.arguments, right.arguments, params.compare)))


def _schema(tool: Any) -> str:
    return json.dumps(tool["function"]["parameters"])


def _miscounted(found: Sequence[ToolCall], wanted: Sequence[ToolCall]) -> Iterator[str]:
    if len(found) != len(wanted):
        kind = "missing_tool_call" if len(found) < len(wanted) else "multiple_tool_calls"
        yield f"{kind}: found {len(found)} calls, expected {len(wanted)}"
    for call in found:
        if call.tool is None:
            yield f"parse: found {call.arguments['text'].strip()[:200]!r}, expected a name and arguments"


def _wrong(pair: _Pair) -> Iterator[str]:
    if not pair.named:
        yield pair.fields[0].wrong
    yield from (f"schema: {one}" for one in pair.broken)
    if pair.named:
        yield from (f"arguments: {one}" for one in shown(differences(pair.fields)))


def right_output(item: Item, params: ToolCallParams) -> RightOutput:
    """Return the reference's calls in tags."""
    calls = _wanted(of_row(params.reference, item))
    if not calls:
        raise NoReference("the row asks for no call, so every text without a call is right")
    return RightOutput("\n".join(
        f"<tool_call>\n{json.dumps({'name': call.tool, 'arguments': call.arguments}, ensure_ascii=False)}\n</tool_call>"
        for call in calls))


def marks(params: ToolCallParams) -> list[Mark]:  # noqa: ARG001 — one signature for every grader
    """Return the texts around a call, as most models write it."""
    return [Mark("<tool_call>", "</tool_call>", needed=False)]


def prepare() -> None:
    """Import the libraries and test them in this process."""
    params = ToolCallParams(type="tool_call", reference='{"name": "f", "arguments": {"x": 1}}')
    if [grade({}, json.dumps({"name": "f", "arguments": {"x": x}}), params).score for x in (1, 2)] != [1.0, 0.0]:
        raise RuntimeError("the calls fail on known answers")


GRADER = Grader(ToolCallParams, grade, pooled=True, prepare=prepare, components=own_names(*NAMES),
                right_output=right_output, marks=marks)
