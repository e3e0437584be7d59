"""The tool loop: tool calls in an answer are carried out in order; an answer without a call is the final answer.

A call can be written in two ways. `tagged`, the format of instruct models (Hermes, Qwen; `written_calls` has others):

    <tool_call>
    {"name": "query", "arguments": {"sql": "SELECT 1"}}
    </tool_call>

`line`, for small models: `query: SELECT 1` on a line of its own, for tools with one argument, and `look:` for those
without any.

Only what the model said counts. Calls in its reasoning are thoughts. Where the reasoning never ends it said nothing;
the environment gets an action that it does not understand.
"""

import json
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from hone.environments.contract import Message
from hone.environments.tools import ToolCall
from hone.environments.written_calls import needs_arguments, not_understood, written_calls
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Heard, Seat, Tools
from hone.text.reasoning import Unfinished, said


class ToolLoopParams(HarnessParams):
    """How calls are written, and whether a system message explains them."""

    syntax: Literal["tagged", "line"] = Field(
        "tagged", description="Format of a call: JSON in tags, or as Llama and Mistral models write it; or a line "
        "`tool: argument`.")
    describe: bool | Literal["template"] = Field(
        True, description="Describe the tools to the policy in a system message; template: the model's chat template "
        "shows them.")

    @property
    def tags(self) -> Sequence[str]:
        return ("tool_call",) if self.syntax == "tagged" else ()


class ToolLoop:
    """Each call is one action. An answer without a call is one action, too."""

    summary = "Tool calls in the policy's answers are carried out; an answer without a call is final."
    params = ToolLoopParams
    kinds: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def play(self, seat: Seat, params: ToolLoopParams) -> None:
        shown = seat.tools if params.describe == "template" else []
        said: list[Message] | Heard = _opening(params, seat)
        while not seat.over:
            answer = await seat.ask(said, tools=shown)
            said = await seat.act(*actions(params, answer.text, seat.tools))


def actions(params: ToolLoopParams, text: str, tools: Tools) -> list[str]:
    """Return the actions of an answer in order; at least one."""
    try:
        answer = said(text)
    except Unfinished:
        return [not_understood(text).action()]
    calls = written_calls(answer, tools) if params.syntax == "tagged" else _lines(answer, tools)
    return [call.action() for call in calls] or [answer]


def _opening(params: ToolLoopParams, seat: Seat) -> list[Message]:
    if params.describe is not True:
        return seat.opening
    return [{"role": "system", "content": explained(params, seat.tools, "is final")}, *seat.opening]


def explained(params: ToolLoopParams, tools: Tools, other: str) -> str:
    """Return the explanation of the tools for the policy. `other` is the meaning of an answer without a call."""
    if params.syntax == "line":
        names = "\n".join(f"{name}: <{argument}>" if argument else f"{name}:"
                          for name, argument in _single(tools).items())
        return f"You may call a tool by a line of this form:\n{names}\nAny other answer {other}."
    listed = "\n".join(json.dumps(tool) for tool in tools)
    return ("You may call tools. They are described by these JSON schemas:\n<tools>\n" + listed + "\n</tools>\n"
            'Call one with a JSON object in tags:\n<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>\n'
            f"An answer without a call {other}.")


def _single(tools: Tools) -> dict[str, str]:
    """Return the argument's name of each tool that has at most one; "": it has none."""
    properties = {tool["function"]["name"]: list(tool["function"]["parameters"]["properties"]) for tool in tools}
    return {name: "".join(arguments) for name, arguments in properties.items() if len(arguments) <= 1}


def _lines(text: str, tools: Tools) -> list[ToolCall]:
    calls, single = list[ToolCall](), _single(tools)
    for line in text.splitlines():
        name, separator, argument = line.partition(":")
        if separator and name.strip() in single:
            calls.append(_line(line, name.strip(), argument.strip(), tools))
    return calls


def _line(line: str, name: str, argument: str, tools: Tools) -> ToolCall:
    known = _single(tools)[name]
    if (argument and not known) or (not argument and needs_arguments(name, tools)):
        return not_understood(line)
    return ToolCall(name, {known: argument} if known else {})
