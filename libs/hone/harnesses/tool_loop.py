"""The tool loop: tool calls in an answer are carried out in order; an answer without a call is the final answer.

A call can be written in two ways. `tagged`, the format of instruct models (Hermes, Qwen):

    <tool_call>
    {"name": "query", "arguments": {"sql": "SELECT 1"}}
    </tool_call>

`line`, for small models: `query: SELECT 1` on a line of its own, for tools with one argument.
"""

import json
import re
from typing import Literal

from pydantic import Field

from hone.environments.contract import Message
from hone.environments.tools import ToolCall, tool_call
from hone.harnesses.contract import HarnessParams, Tools

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


class ToolLoopParams(HarnessParams):
    """How calls are written, and whether a system message explains them."""

    syntax: Literal["tagged", "line"] = Field(
        "tagged", description="Format of a call: JSON in tags, or a line `tool: argument`.")
    describe: bool = Field(True, description="Describe the tools to the policy in a system message.")


class ToolLoop:
    """Each call is one action. An answer without a call is one action, too."""

    summary = "Tool calls in the policy's answers are carried out; an answer without one is final."
    params = ToolLoopParams

    def opening(self, params: ToolLoopParams, messages: list[Message], tools: Tools) -> list[Message]:
        if not params.describe:
            return messages
        return [{"role": "system", "content": _instructions(params, tools)}, *messages]

    def actions(self, params: ToolLoopParams, text: str, tools: Tools) -> list[str]:
        calls = _tagged(text) if params.syntax == "tagged" else _lines(text, _single(tools))
        return [call.action() for call in calls] or [text]


def _instructions(params: ToolLoopParams, tools: Tools) -> str:
    if params.syntax == "line":
        names = "\n".join(f"{name}: <{argument}>" for name, argument in _single(tools).items())
        return f"You may call a tool by a line of this form:\n{names}\nAny other answer is final."
    listed = "\n".join(json.dumps(tool) for tool in tools)
    return ("You may call tools. They are described by these JSON schemas:\n<tools>\n" + listed + "\n</tools>\n"
            'Call one with a JSON object in tags:\n<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>\n'
            "An answer without a call is final.")


def _tagged(text: str) -> list[ToolCall]:
    return [_read(found) for found in _TAGGED.findall(text)]


def _read(text: str) -> ToolCall:
    try:
        given = json.loads(text)
        call = ToolCall(given["name"], given.get("arguments", {}))
        understood = call.tool is not None and tool_call(call.action()) == call
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        understood = False
    return call if understood else ToolCall(None, {"text": text})


def _single(tools: Tools) -> dict[str, str]:
    """Return the argument's name of each tool that has exactly one argument."""
    properties = {tool["function"]["name"]: list(tool["function"]["parameters"]["properties"]) for tool in tools}
    return {name: arguments[0] for name, arguments in properties.items() if len(arguments) == 1}


def _lines(text: str, single: dict[str, str]) -> list[ToolCall]:
    calls = []
    for line in text.splitlines():
        name, separator, argument = line.partition(":")
        if separator and name.strip() in single:
            calls.append(ToolCall(name.strip(), {single[name.strip()]: argument.strip()}))
    return calls
