"""Form of an answer, as the grammar that an engine is given: JSON of a schema, or calls of tools. Pure."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from services.gateway.openai.refusals import UNFOLLOWED, WrongRequest, wrong
from services.gateway.openai.requests import AskedTool, ChatRequest, NamedTool

_REFUSALS = [re.compile(words, re.DOTALL) for words in (
    r"(?:request\.)?grammar: found .*?, expected a grammar that llguidance can follow: (.*)",
    r"(?:request\.)?grammar: found .*, expected (.*)", f"{UNFOLLOWED}(.*)")]
"""An engine's words for a grammar that it did not compile or could not follow, with the reason."""
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_WRITTEN: Mapping[str, Any] = {"whitespace_pattern": r"[\x20\x0A\x0D\x09]{0,40}"}
"""How JSON is written: with any white space, but not with more and more of it."""
_OBJECT: Mapping[str, Any] = {"type": "object"}
_HEAD = '\n{"name": "'
_ARGUMENTS = '", "arguments": '


@dataclass(frozen=True)
class Guide:
    """A grammar in llguidance's form, and the field of the request that it is made of."""

    grammar: str
    field: str
    found: object  # what the field holds


def of(body: ChatRequest, control: Collection[str]) -> Guide | None:
    """Return the form of the answer, after the beginning that `prompts.begun` gives it. None: any text.

    `control` are the control tokens of the model. Raises WrongRequest.
    """
    if isinstance(body.tool_choice, NamedTool):
        named = next(tool for tool in body.tools or () if tool.function.name == body.tool_choice.function.name)
        return Guide(f"start: {_json(_parameters(named), 'tools')} {_text('}')}", "tools", named.function.parameters)
    if body.tool_choice == "required":
        return Guide("\n".join(["start: called", *_calls(body, control)]), "tools", [
            tool.function.name for tool in body.tools or ()])
    form = body.response_format
    if form is None or form.type == "text":
        return None
    field, schema = "response_format.type", _OBJECT
    if form.json_schema is not None and form.json_schema.schema_ is not None and form.type == "json_schema":
        field, schema = "response_format.json_schema.schema", form.json_schema.schema_
    answer = _json({**schema, "x-guidance": _WRITTEN}, field)
    if not body.tools or body.tool_choice == "none":
        return Guide(f"start: {answer}", field, schema)
    lines = [f"start: answer | {_mark(_OPEN, control)} {_text(_HEAD)} called", f"answer: {answer}"]
    return Guide("\n".join([*lines, *_calls(body, control)]), field, schema)


@contextmanager
def blamed(guide: Guide | None) -> Iterator[None]:
    """Name the field of the request where an engine refuses the grammar that was made of it."""
    try:
        yield
    except WrongRequest as error:
        reason = next((match[1] for words in _REFUSALS if (match := words.fullmatch(str(error.detail)))), None)
        if guide is None or reason is None:
            raise
        raise wrong(guide.field, guide.found, f"a format that answers can be held to: {reason}") from error


def _calls(body: ChatRequest, control: Collection[str]) -> list[str]:
    """Return the rules of one call or of several, each after the beginning of its name."""
    tools = body.tools or ()
    end = _text("\n")
    again = f" ({end} {_mark(_CLOSE, control)} {end} {_mark(_OPEN, control)} {_text(_HEAD)} call)*"
    several = "" if body.parallel_tool_calls is False else again
    calls = [f"call{place}: {_text(tool.function.name + _ARGUMENTS)} {_json(_parameters(tool), 'tools')} {_text('}')}"
             for place, tool in enumerate(tools)]
    return [f"called: call{several}", "call: " + " | ".join(f"call{place}" for place in range(len(tools))), *calls]


def _parameters(tool: AskedTool) -> dict[str, Any]:
    """Return the schema of a tool's arguments. What llguidance lacks is left out unless the tool is strict."""
    lenient = {} if tool.function.strict else {"lenient": True}
    return {**_OBJECT, **(tool.function.parameters or {}), "x-guidance": {**_WRITTEN, **lenient}}


def _json(schema: Mapping[str, Any], field: str) -> str:
    try:
        return f"%json {json.dumps(schema)}"
    except RecursionError as error:
        raise wrong(field, "a schema nested too deep to be read", "a schema of fewer levels") from error


def _text(text: str) -> str:
    return json.dumps(text)


def _mark(mark: str, control: Collection[str]) -> str:
    """Return a mark as a token of its own, where it is a control token, or as text."""
    return mark if mark in control else _text(mark)
