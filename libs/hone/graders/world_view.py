"""View of a world for a judge: the tools of its environment, the states before and after, and a log of its looks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from hone.environments.tools import Tool, ToolCall, ToolError, use
from hone.graders.sample import World
from hone.graders.scenes import Scene, Seen, State

AT_ONCE = 8
"""Most tool calls of one answer that are carried out."""
_SHOWN = 200
"""Characters of a value in a list of changes."""
_BEFORE, _FIRST = "_before", " Here: in the state before the agent's first action."
_MISSING = object()


class StateChanges(BaseModel):
    """List what differs between the state before the first action and the state after the last one."""


class ReadState(BaseModel):
    """Read a part of the state, as JSON."""

    path: str = Field("", description="Keys from outside to inside, joined by dots; places in lists as numbers. "
                      "Empty: everything.")
    state: State = Field("after", description="Before the first action, or after the last action.")


class WorldView:
    """Looks at a world, and numbers what it saw from 1 on. At most `most` characters of each result are shown."""

    def __init__(self, world: World, scene: Scene, most: int) -> None:
        self._world, self._scene, self._most = world, scene, most
        own = {"state_changes": Tool(StateChanges, self._changes), "read_state": Tool(ReadState, self._read)}
        self._theirs = {tool["function"]["name"]: tool["function"] for tool in scene.tools}
        self._own = {name: tool for name, tool in own.items() if name not in self._theirs}
        self.seen = 0
        self.errors = 0

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        """The environment's tools for both states, and those for the states as JSON, as OpenAI describes functions."""
        firsts = [{"type": "function", "function": {
            **tool, "name": name + _BEFORE, "description": f"{tool.get('description', '')}{_FIRST}"}}
            for name, tool in self._theirs.items()]
        return [*self._scene.tools, *firsts, *(tool.described(name) for name, tool in self._own.items())]

    async def answers(self, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Carry out a judge's tool calls, and return a message for each. Raises WorldLost."""
        return [{"role": "tool", "tool_call_id": str(call.get("id", "")), "content": await self._answer(call, place)}
                for place, call in enumerate(calls)]

    async def _answer(self, call: Mapping[str, Any], place: int) -> str:
        if place >= AT_ONCE:
            self.errors += 1
            return f"error: at most {AT_ONCE} calls at a time are carried out"
        seen = await self._used(call.get("function") or {})
        if not seen.valid:
            self.errors += 1
            return shortened(seen.text, self._most)
        self.seen += 1
        return f"evidence {self.seen}\n{shortened(seen.text, self._most)}"

    async def _used(self, function: Mapping[str, Any]) -> Seen:
        name = str(function.get("name"))
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except (TypeError, ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            return Seen(f"error: the arguments of {name} are no JSON object", valid=False)
        if name.removesuffix(_BEFORE) in self._theirs and name not in self._theirs:
            return await self._scene.use(name.removesuffix(_BEFORE), arguments, "before")
        if name not in self._own:
            return await self._scene.use(name, arguments)
        try:
            return Seen(use(self._own, ToolCall(name, arguments)))
        except ToolError as error:
            return Seen(f"error: {error}", valid=False)

    def _changes(self, _: StateChanges) -> str:
        lines = [f"{path or 'state'}: {_brief(old)} -> {_brief(new)}"
                 for path, old, new in changes(self._world.before, self._world.after)]
        return "\n".join(lines) or "nothing differs"

    def _read(self, asked: ReadState) -> str:
        state: Any = self._world.after if asked.state == "after" else self._world.before
        for key in filter(None, asked.path.split(".")):
            try:
                state = state[int(key)] if isinstance(state, list) else state[key]
            except (KeyError, IndexError, ValueError, TypeError):
                here = ", ".join(map(str, state))[:_SHOWN] if isinstance(state, dict) else type(state).__name__
                raise ToolError(f"path: nothing is at {key!r}; there is {here}") from None
        return json.dumps(state, ensure_ascii=False)


def changes(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths at which two JSON values differ, with both values. A value that is not there is None."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from changes(before.get(key, _MISSING), after.get(key, _MISSING), f"{path}.{key}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changes(old, new, f"{path}.{place}".lstrip("."))
    elif before is _MISSING or after is _MISSING or json.dumps(before) != json.dumps(after):
        yield path, before, after


def shortened(text: str, most: int) -> str:
    """Return a text of at most about `most` characters: its beginning and its end, and between them what is left out.
    """
    if len(text) <= most:
        return text
    head, tail = most - most // 3, most // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters are left out …]\n{text[len(text) - tail:]}"


def _brief(value: Any) -> str:
    text = "nothing" if value is _MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
