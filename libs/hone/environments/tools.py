"""Environments that are acted upon by tools: an action is a tool call, any other text is a final answer.

On the wire a tool call is the JSON `{"tool": name, "arguments": {...}}`; a harness makes it from what the policy wrote.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from hone.environments.contract import expectation


class ToolError(ValueError):
    """What a tool answers instead of a result; the policy reads it and may try again."""


@dataclass(frozen=True)
class ToolCall:
    """A call as the policy meant it; without `tool`, `arguments` holds the text that could not be read as one."""

    tool: str | None
    arguments: dict[str, Any]

    def action(self) -> str:
        """Return the call as an environment's action."""
        return json.dumps({"tool": self.tool, "arguments": self.arguments})


@dataclass(frozen=True)
class Tool:
    """A function that the policy may call; its docstring says what it is for."""

    params: type[BaseModel]
    call: Callable[[Any], str]

    def described(self, name: str) -> dict[str, Any]:
        """Return the tool as OpenAI describes functions."""
        schema = self.params.model_json_schema()
        properties = {key: {part: of for part, of in value.items() if part != "title"}
                      for key, value in schema["properties"].items()}
        return {"type": "function", "function": {
            "name": name, "description": self.params.__doc__ or "",
            "parameters": {"type": "object", "properties": properties, "required": schema.get("required", [])}}}


def tool_call(action: str) -> ToolCall | None:
    """Return the call that an action is; None when it is plain text.

    What no message can carry is no call: half of a surrogate pair, or brackets within brackets without end.
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
    """Return what a tool answers. Raises ToolError for an unknown tool, wrong arguments and what the tool refuses."""
    if call.tool is None:
        raise ToolError("this is no tool call that could be read")
    if call.tool not in tools:
        raise ToolError(f"no tool {call.tool}; there are {', '.join(tools)}")
    tool = tools[call.tool]
    try:
        arguments = tool.params.model_validate(call.arguments)
    except ValidationError as error:
        first = error.errors()[0]
        raise ToolError(f"{'.'.join(map(str, first['loc']))}: {expectation(first)}") from error
    return tool.call(arguments)
