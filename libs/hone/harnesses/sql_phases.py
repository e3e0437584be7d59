"""The four actions of TRUST-SQL, arXiv 2603.16448: each turn is one block of reasoning and one action with its payload.

`tagged`, the format of the paper:

    <think>I look at the columns.</think>
    <action>explore_schema</action>
    <tool_call>{"name": "execute_sql_query", "arguments": {"sql": "PRAGMA table_info(orders)"}}</tool_call>

    <action>propose_schema</action>    <schema>{"tables": ["orders"], "columns": {"orders": ["amount"]}}</schema>
    <action>generate_sql</action>      <tool_call>…</tool_call>
    <action>confirm_answer</action>    <answer>SELECT sum(amount) FROM orders</answer>

`line`, for small models: `explore_schema: PRAGMA table_info(orders)` on a line of its own, and no reasoning is needed.

A turn that cannot be read is answered with the four formats, and noted as `malformed`. So is a turn that can be read
and breaks the format: no single block of reasoning, or the payload of another action, which then is carried out. Of
several payloads the first of answer, schema and tool call counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from hone.environments.contract import Message
from hone.environments.sql_exploration import MALFORMED, PHASES
from hone.environments.tools import ToolCall
from hone.environments.written_calls import written_calls
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Heard, Seat
from hone.spec import strict_json
from hone.text import reasoning

EXPLORE, PROPOSE, GENERATE, CONFIRM = PHASES
_QUERY = "execute_sql_query"
_TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": _QUERY, "parameters": {
    "type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}}}]
_PAYLOADS = {EXPLORE: "tool_call", PROPOSE: "schema", GENERATE: "tool_call", CONFIRM: "answer"}
_FENCED = re.compile(r"\A```(?:sql)?\s(.*)```\Z", re.DOTALL | re.IGNORECASE)
_SCHEMA = '{"tables": [...], "columns": {"table": [...]}}'
_RULES = ("You answer a question about a database with SQL (SQLite). You do not know its tables: look at them first. "
          "Never use a table or column that you have not seen. Each turn is one action, in this order; you may go "
          "back. explore_schema reads metadata alone: sqlite_master and PRAGMA.")


def _tagged(action: str, payload: str) -> str:
    tag = _PAYLOADS[action]
    return f"<think>...</think>\n<action>{action}</action>\n<{tag}>{payload}</{tag}>"


_CALL = f'{{"name": "{_QUERY}", "arguments": {{"sql": "..."}}}}'
_FORMATS: Mapping[str, str] = {
    "tagged": "\n\n".join(_tagged(action, {"tool_call": _CALL, "schema": _SCHEMA, "answer": "..."}[tag])
                          for action, tag in _PAYLOADS.items()),
    "line": "\n".join(f"{action}: {_SCHEMA if action == PROPOSE else '<sql>'}" for action in PHASES)}


class SqlPhasesParams(HarnessParams):
    """How actions are written, and whether a system message explains them."""

    marked: ClassVar[frozenset[str]] = frozenset({"schema", "explore"})

    max_turns: int | None = Field(
        10, ge=1, description="Most model calls of an episode, unreadable calls included; null: no limit.")
    syntax: Literal["tagged", "line"] = Field(
        "tagged", description="Format of a turn: tags with JSON, or a line `action: payload`.")
    describe: bool = Field(True, description="Describe the actions to the policy in a system message.")

    @property
    def tags(self) -> Sequence[str]:
        return ("action", *dict.fromkeys(_PAYLOADS.values())) if self.syntax == "tagged" else ()


class Malformed(ValueError):
    """A turn that cannot be read. The message says why."""


@dataclass(frozen=True)
class Phase:
    """Action of a turn. `fault`: how it breaks the format nevertheless; empty: it does not."""

    call: ToolCall
    fault: str = ""


class SqlPhases:
    """Each turn is one of four actions, for an environment with tools of their names.

    A turn that proposed a schema is a span `schema`, one that explored a span `explore`.
    """

    summary = "Four actions, one each turn: explore a database's schema, propose a schema, try SQL, confirm the answer."
    params = SqlPhasesParams
    kinds: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def play(self, seat: Seat, params: SqlPhasesParams) -> None:
        said: list[Message] | Heard = _opening(params, seat)
        while not seat.over:
            answer = await seat.ask(said, tools=[])
            try:
                phase = read(params, answer.text)
            except Malformed as error:
                seat.note(MALFORMED, str(error))
                said = Heard([{"role": "tool", "content": help_message(params)}], valid=False)
                continue
            said = await _carried_out(seat, phase)


async def _carried_out(seat: Seat, phase: Phase) -> Heard:
    if phase.fault:
        seat.note(MALFORMED, phase.fault)
    heard = await seat.act(phase.call.action())
    if phase.call.tool == EXPLORE:
        seat.mark("explore")
    if phase.call.tool == PROPOSE and heard.valid:
        seat.mark("schema")
    return heard


def help_message(params: SqlPhasesParams) -> str:
    """Return the answer to a turn that cannot be read."""
    return f"Invalid format. Expected one of:\n\n{_FORMATS[params.syntax]}\n"


def read(params: SqlPhasesParams, text: str) -> Phase:
    """Return the action of a turn. Raises Malformed."""
    try:
        spoken = reasoning.said(text)
    except reasoning.Unfinished as error:
        raise Malformed(str(error)) from error
    return _line(spoken) if params.syntax == "line" else _tags(text, spoken)


def _opening(params: SqlPhasesParams, seat: Seat) -> list[Message]:
    if not params.describe:
        return seat.opening
    return [{"role": "system", "content": f"{_RULES}\n\n{_FORMATS[params.syntax]}"}, *seat.opening]


def _line(spoken: str) -> Phase:
    found = [(name.strip(), payload.strip()) for name, colon, payload in (
        line.partition(":") for line in spoken.splitlines()) if colon and name.strip() in PHASES]
    if len(found) != 1:
        raise Malformed(f"found {len(found)} actions, expected one")
    [(name, payload)] = found
    return Phase(ToolCall(name, _schema(payload) if name == PROPOSE else _sql(payload)))


def _tags(text: str, spoken: str) -> Phase:
    names = [name.strip() for name in _inside("action", spoken)]
    if len(names) != 1:
        raise Malformed(f"found {len(names)} tags <action>, expected one")
    [name] = names
    if name not in PHASES:
        raise Malformed(f"found the action {name[:50]!r}, expected one of {', '.join(PHASES)}")
    payloads = {tag: found for tag in ("answer", "schema", "tool_call") if (found := _payload(tag, spoken))}
    if _PAYLOADS[name] not in payloads:
        raise Malformed(f"found no <{_PAYLOADS[name]}>, expected one for {name}")
    tag = next(iter(payloads))
    done = name if tag == _PAYLOADS[name] else {"answer": CONFIRM, "schema": PROPOSE}[tag]
    return Phase(ToolCall(done, _arguments(tag, payloads[tag])), _fault(text, name, done))


def _fault(text: str, name: str, done: str) -> str:
    blocks = [sum(text.count(mark) for mark in marks) for marks in (reasoning.MARKS, reasoning.MARKS.values())]
    if blocks != [1, 1]:
        return f"found {blocks[0]} beginnings and {blocks[1]} ends of reasoning, expected one block"
    return "" if done == name else f"found the payload of {done}, expected that of {name}"


def _payload(tag: str, spoken: str) -> str:
    """Return the payload in the last tag of its kind; "" without one. A tool call keeps its tags, of which one is read.
    """
    found = _inside(tag, spoken)
    if not found or not found[-1].strip():
        return ""
    return "".join(f"<{tag}>{inside}</{tag}>" for inside in found) if tag == "tool_call" else found[-1].strip()


def _inside(tag: str, spoken: str) -> list[str]:
    return re.findall(rf"<{tag}>(.*?)</{tag}>", spoken, re.DOTALL)


def _arguments(tag: str, payload: str) -> dict[str, Any]:
    if tag == "schema":
        return _schema(payload)
    if tag == "answer":
        fenced = _FENCED.match(payload)
        return _sql(fenced[1] if fenced else payload)
    calls = written_calls(payload, _TOOLS)
    if len(calls) != 1 or calls[0].tool != _QUERY or not isinstance(calls[0].arguments.get("sql"), str):
        raise Malformed(f"found no single call of {_QUERY} with sql in JSON")
    return _sql(calls[0].arguments["sql"])


def _sql(text: str) -> dict[str, Any]:
    if not text.strip():
        raise Malformed("found no SQL")
    return {"sql": text.strip()}


def _schema(text: str) -> dict[str, Any]:
    try:
        schema = strict_json.read(text)
    except ValueError as error:
        raise Malformed(f"found a schema that is no JSON: {error}"[:200]) from error
    if not isinstance(schema, dict):
        raise Malformed("found a schema that is no JSON object")
    return schema
