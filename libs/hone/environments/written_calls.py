"""Tool calls as models write them: JSON in tags, or in the native forms of Llama and Mistral models.

A call is read as it was meant, or not at all. Where the meaning is not plain the result is a call without a tool, which
holds the text: the environment answers that it did not understand.

Where no tools are known (None) any name may be one; then a call has to have arguments, which may be empty.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hone.environments.tools import ToolCall, tool_call
from hone.text.conversation import Tools
from hone.text.reasoning import Unfinished, answer_start

MARKS = ("<tool_call>", "<|python_tag|>", "[TOOL_CALLS]")
"""Texts with which calls begin."""
_TAGGED = re.compile(r"<tool_call>(.*?)(?=</tool_call>|<tool_call>|\Z)", re.DOTALL)
_PYTHON_TAG = re.compile(r"<\|python_tag\|>(.*?)(?=<\|eom_id\|>|<\|eot_id\|>|<\|python_tag\|>|\Z)", re.DOTALL)
_TOOL_CALLS = re.compile(r"\[TOOL_CALLS\](.*?)(?=</s>|\[TOOL_CALLS\]|\Z)", re.DOTALL)
_FENCE = "```"
_ARGUMENTS = {"arguments", "parameters"}
_NAMED = re.compile(r"\s*([\w.-]+)\s*(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(?=\{)")
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_BETWEEN = re.compile(r"[\s;]*")
_WRITTEN_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
_WRITTEN_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*|(?<=\[ARGS\])')
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True)
class WrittenCall:
    """A call of a function; `arguments` is the text that the model wrote, which may be no JSON."""

    name: str
    arguments: str


def written_calls(text: str, tools: Tools | None) -> list[ToolCall]:
    """Return the calls in what a model said, in order; [] where it says none.

    Without tags a text that is one JSON object, and names a tool that there is, is a call (Llama).
    """
    for form in (_TAGGED, _PYTHON_TAG, _TOOL_CALLS):
        if found := form.findall(text):
            return [call for inside in found for call in _calls(inside, tools)]
    bare = _calls(text, tools) if text.lstrip().startswith(("{", "[", _FENCE)) else []
    known = None if tools is None else {tool["function"]["name"] for tool in tools}
    return bare if all(call.tool is not None if known is None else call.tool in known for call in bare) else []


def content_and_calls(text: str, tools: Tools | None) -> tuple[str, list[WrittenCall]]:
    """Return the content of an answer without its tool calls, and the calls. What was only thought is no call."""
    try:
        start = answer_start(text)
    except Unfinished:
        return text, []
    answer = text[start:]
    calls = [] if tools is not None and not tools else _as_text(answer, tools)
    if not calls:
        return text, []
    begins = [place for mark in MARKS if (place := answer.find(mark)) >= 0]
    return text[:start + min(begins, default=0)].rstrip(), calls


def not_understood(text: str) -> ToolCall:
    """Return the call that stands for a text which is none."""
    return ToolCall(None, {"text": text})


def needs_arguments(name: str, tools: Tools) -> bool:
    """Return whether a tool cannot be called with nothing; so it is for a tool that there is not."""
    known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    return name not in known or bool(known[name].get("required"))


def _calls(text: str, tools: Tools | None) -> list[ToolCall]:
    """Return the calls in a text of JSON: an object, a list of objects, or several one after the other."""
    try:
        values = list(_values(_with_name_inside(_unfenced(text))))
        calls = [_call(given, tools) for value in values for given in (value if isinstance(value, list) else [value])]
    except _UNREADABLE:
        calls = []
    return calls or [not_understood(text)]


def _with_name_inside(text: str) -> str:
    """Return `name[ARGS]{…}`, as newer Mistral models write it, as one object; other text unchanged."""
    named = _NAMED.match(text)
    if named is None:
        return text
    return f'{{"name": {json.dumps(named[1])}, "arguments": {text[named.end():]}}}'


def _unfenced(text: str) -> str:
    """Return the inside of a code block; other text unchanged."""
    bare = text.strip()
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE) and len(bare) >= 2 * len(_FENCE)):
        return text
    language, _, inside = bare[len(_FENCE):-len(_FENCE)].partition("\n")
    return inside if language.strip().isalpha() or not language.strip() else language + inside


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a text. Strings may hold raw line ends, and lists and objects a last comma."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_no_number)
    text = _TRAILING_COMMA.sub(lambda found: found[1] or "", text)
    place = _BETWEEN.match(text, 0).end()  # type: ignore[union-attr]  # it matches everywhere
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        yield value
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _call(given: Any, tools: Tools | None) -> ToolCall:
    """Return the call in an object. Raises one of _UNREADABLE where it is none."""
    if isinstance(given.get("function"), dict):  # OpenAI's form: {"type": "function", "function": {…}}
        given = given["function"]
    name, arguments = given["name"], _arguments(given)
    call = ToolCall(name, arguments)
    if not isinstance(name, str) or tool_call(call.action()) != call:
        raise ValueError("it is no call")
    if not arguments and (needs_arguments(name, tools) if tools is not None else not given.keys() & _ARGUMENTS):
        raise ValueError(f"{name} is called with nothing")
    return call


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, which may be named parameters, or be JSON in a string."""
    if "arguments" in given and "parameters" in given and given["arguments"] != given["parameters"]:
        raise ValueError("arguments and parameters differ")
    found = given.get("arguments", given.get("parameters"))
    if isinstance(found, str) and found.strip():
        (found,) = _values(found)
    arguments = {} if found in (None, "") else found
    if not isinstance(arguments, dict):
        raise TypeError("arguments are no object")
    return arguments


def _as_text(answer: str, tools: Tools | None) -> list[WrittenCall]:
    found, place = list[WrittenCall](), 0
    for call in written_calls(answer, tools):
        if call.tool is None:
            named = _WRITTEN_NAME.search(call.arguments["text"])
            if named is None:
                return found  # it is no call, or one that was cut before its name; alone, the text stays as it is
            found.append(WrittenCall(named[1], _malformed(call.arguments["text"], named.end())))
            continue
        text, place = _as_written(answer, place, call.arguments)
        found.append(WrittenCall(call.tool, text))
    return found


def _as_written(answer: str, place: int, arguments: dict[str, Any]) -> tuple[str, int]:
    """Return the text of the next arguments and where it ends; their JSON where the text says something else."""
    begin = _WRITTEN_ARGUMENTS.search(answer, place)
    if begin is not None:
        try:
            value, end = json.JSONDecoder().raw_decode(answer, begin.end())
        except ValueError:
            value, end = None, begin.end()
        if value == arguments:
            return answer[begin.end():end], end
        place = end
    return json.dumps(arguments), place


def _malformed(text: str, place: int) -> str:
    """Return a stand-in for the arguments of a call that is not JSON, or was cut before its end."""
    begin = _WRITTEN_ARGUMENTS.search(text, place)
    if begin is not None:
        with suppress(ValueError):
            return text[begin.end():json.JSONDecoder().raw_decode(text, begin.end())[1]]
    return text[begin.end():].strip().removesuffix("}").rstrip() if begin else text[place:].strip(" ,}\n")
