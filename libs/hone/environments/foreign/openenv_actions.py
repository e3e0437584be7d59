"""Answers as actions of an OpenEnv server, by its JSON schema of actions."""

from collections.abc import Mapping
from typing import Any

from hone.environments.contract import WrongParams
from hone.environments.foreign.openenv_params import OpenEnvParams
from hone.environments.tools import tool_call
from hone.spec import strict_json

_OWN = frozenset({"metadata"})
"""Fields that every action of OpenEnv has."""
_ACT = "act"


class NotRead(ValueError):
    """The answer is no action. The policy reads why."""


class Actions:
    """Actions of a server."""

    def __init__(self, schema: Mapping[str, Any], params: OpenEnvParams) -> None:
        """Raises WrongParams where the parameters do not fit the schema."""
        given, required = schema.get("properties"), schema.get("required")
        known = given if isinstance(given, dict) else {}
        self._fields = {name: about for name, about in known.items() if name not in _OWN and isinstance(about, dict)}
        self._required = [name for name in self._fields if isinstance(required, list) and name in required]
        self._schema, self._kind = schema, params.action
        self._text = params.field or self._only_text()
        if params.field and params.field not in self._fields:
            raise WrongParams("params.field", params.field, f"a field of the server's actions: {list(self._fields)}")
        if params.action == "text" and not self._text:
            raise WrongParams("params.field", "", f"the field that holds the text, one of {list(self._fields)}")

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The tool by which an action is called, where actions are tool calls."""
        if self._kind != "tool":
            return None
        definitions = {"$defs": self._schema["$defs"]} if "$defs" in self._schema else {}
        return [{"type": "function", "function": {
            "name": _ACT, "description": "Take an action.", "parameters": {
                "type": "object", "properties": self._fields, "required": self._required, **definitions}}}]

    def read(self, text: str) -> dict[str, Any]:
        """Return the action of an answer. Raises NotRead."""
        if self._kind == "tool":
            call = tool_call(text)
            if call is None or call.tool != _ACT:
                raise NotRead(f"expected a call of the tool {_ACT}")
            return call.arguments
        if self._kind == "text" or (self._kind == "auto" and self._text):
            return {self._text: text}
        try:
            read = strict_json.read(text[text.index("{"):text.rindex("}") + 1])
        except ValueError:
            read = None
        if not isinstance(read, dict):
            raise NotRead(f"expected a JSON object with {', '.join(self._fields) or 'the action'}")
        return read

    def _only_text(self) -> str:
        """Return the one required field where that is a text; else nothing."""
        texts = [name for name in self._required if self._fields[name].get("type") == "string"]
        return texts[0] if len(self._required) == len(texts) == 1 else ""
