"""The lines that a player writes: a text, the call of a tool, or a command."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hone.client.play_arguments import argument
from hone.spec.problems import Invalid, Problem, found

CALL = "/call"
COMMANDS: Mapping[str, str] = {
    CALL: "TOOL key=value … or /call TOOL {JSON}: call a tool", "/tools": "list the tools",
    "/state": "the environment's state", "/score": "the environment's own score", "/quit": "leave"}
"""Command -> what it does."""


@dataclass(frozen=True)
class PlayLine:
    """Meaning of a line: a text, the call of a tool, or a command."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    command: str = ""


def read(line: str, tools: Sequence[Mapping[str, Any]]) -> PlayLine:
    """Return the meaning of a line. A tool's name before key=value alone is a call, too. Raises Invalid."""
    line = line.strip()
    first, _, rest = line.partition(" ")
    if first == CALL:
        tool, _, given = rest.strip().partition(" ")
        if not tool:
            raise Invalid([Problem("line", found(line), f"{CALL} {COMMANDS[CALL]}")])
        return PlayLine(tool=tool, arguments=_arguments(tool, given.strip(), tools))
    if first in COMMANDS:
        return PlayLine(command=first)
    if first.startswith("/"):
        raise Invalid([Problem("line", found(first), f"one of {', '.join(COMMANDS)}, or a text")])
    if first in _properties(tools) and _pairs(rest) is not None:
        return PlayLine(tool=first, arguments=_arguments(first, rest.strip(), tools))
    return PlayLine(text=line)


def _arguments(tool: str, given: str, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if given.startswith("{"):
        try:
            return dict(json.loads(given))
        except ValueError as error:
            raise Invalid([Problem(f"{tool}'s arguments", found(given), f"a JSON object ({error})")]) from error
    pairs, properties = _pairs(given) if given else {}, _properties(tools).get(tool, {})
    if pairs is None:
        raise Invalid([Problem(f"{tool}'s arguments", found(given), "key=value …, with quotes around spaces, or a JSON "
                               "object")])
    return {key: argument(value, properties.get(key, {})) for key, value in pairs.items()}


def _pairs(text: str) -> dict[str, str] | None:
    """Return key=value pairs; None for a text that is none."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    split = [word.partition("=") for word in words]
    return {key: value for key, _, value in split} if words and all(key.isidentifier() and sign for key, sign, _ in
                                                                    split) else None


def _properties(tools: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the schema of each argument of each tool."""
    functions = [tool.get("function", {}) for tool in tools]
    return {one.get("name", ""): one.get("parameters", {}).get("properties", {}) for one in functions}
