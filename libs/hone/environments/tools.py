"""Tool calls as actions of an environment. A text that is no tool call is a final answer.

As an action a tool call is the JSON `{"tool": name, "arguments": {...}}`. A harness makes it from a completion.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from pydantic import BaseModel, ValidationError

from hone.spec.findings import first

CallFault = Literal["malformed", "unknown_tool", "wrong_arguments", "refused"]
FAULTS: tuple[CallFault, ...] = get_args(CallFault)
"""Fault of a call: it cannot be read, no tool has its name, its arguments are wrong, the tool refuses it."""


class ToolError(ValueError):
    """A tool failed. The policy reads the message and may try again."""

    def __init__(self, message: str, fault: CallFault = "refused") -> None:
        super().__init__(message)
        self.fault: CallFault = fault


@dataclass(frozen=True)
class ToolCall:
    """A tool call. Where `tool` is None, `arguments` holds a text that could not be read as a call."""

    tool: str | None
    arguments: dict[str, Any]

    def action(self) -> str:
        """Return the call as an environment's action."""
        return json.dumps({"tool": self.tool, "arguments": self.arguments})


@dataclass(frozen=True)
class Tool:
    """A function that the policy may call. The docstring of `params` describes it to the policy."""

    params: type[BaseModel]
    call: Callable[[Any], str]

    def described(self, name: str) -> dict[str, Any]:
        """Return the tool in OpenAI's format of functions."""
        schema = _json_schema(self.params)
        properties = {key: {part: of for part, of in value.items() if part != "title"}
                      for key, value in schema["properties"].items()}
        return {"type": "function", "function": {
            "name": name, "description": self.params.__doc__ or "",
            "parameters": {"type": "object", "properties": properties, "required": schema.get("required", [])}}}


@cache
def _json_schema(params: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments. Every observation shows it, and pydantic takes a while to make it.
    """
    return params.model_json_schema()


@runtime_checkable
class Examinable(Protocol):
    """An episode whose state can be looked at with tools, whether or not it has ended."""

    def examination_tools(self) -> Mapping[str, Tool]:
        """Return tools for somebody who judges the state. They take no turn. What they change, a fork does not see."""


def tool_call(action: str) -> ToolCall | None:
    """Return the tool call in an action; None when the action is plain text.

    Text that no message can carry is no call: half a surrogate pair, or brackets nested too deep.
    """
    try:
        given = json.loads(action)
        json.dumps(given, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or set(given) != {"tool", "arguments"}:
        return None
    tool, arguments = given["tool"], given["arguments"]
    return ToolCall(tool, arguments) if isinstance(tool, str | None) and isinstance(arguments, dict) else None


def use(tools: Mapping[str, Tool], call: ToolCall) -> str:
    """Return a tool's answer. Raises ToolError for an unknown tool, wrong arguments, and an error of the tool."""
    if call.tool is None:
        raise ToolError("this is no tool call that could be read", "malformed")
    if call.tool not in tools:
        raise ToolError(f"no tool {call.tool}; there are {', '.join(tools)}", "unknown_tool")
    tool = tools[call.tool]
    try:
        arguments = tool.params.model_validate(call.arguments)
    except ValidationError as error:
        wrong = first(error)
        raise ToolError(f"{wrong.field}: {wrong.expected}", "wrong_arguments") from error
    return tool.call(arguments)
