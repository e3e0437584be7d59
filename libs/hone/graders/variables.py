"""Variables of templates: `item.truth.date`, `item.list[0].name`, `sample.output_tools[0].function.name`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hone.environments import row_json
from hone.environments.written_calls import content_and_calls
from hone.graders.contract import InvalidSpec, NoAnswer
from hone.text.conversation import Tools

_ROOT = re.compile(r"(item|sample\.(?:output_text|output_json|output_tools|choices))(?=[.\[]|$)")
_PART = re.compile(r"""\.([^.\s\[\]]+)|\[\s*([0-9]{1,9})\s*\]|\[\s*"([^"]*)"\s*\]|\[\s*'([^']*)'\s*\]""")
_PLAIN = re.compile(r"[^.\s\[\]]+")
_CHOICE = re.compile(r"|\.0(\.index|\.message(\.role|\.content|\.tool_calls(\..*)?)?)?")
_EXPECTED = ("variables under item, sample.output_text, sample.output_json, sample.output_tools or sample.choices, "
             "such as item.list[0].name, not ")


@dataclass(frozen=True)
class Variable:
    """Target of a variable: a root, and the keys and places that lead from there to a value."""

    root: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.root + "".join(f".{part}" if _PLAIN.fullmatch(part) else f"[{json.dumps(part)}]"
                                   for part in self.path)


@lru_cache(maxsize=4096)
def variable(text: str) -> Variable:
    """Return the variable that a text names. Raises ValueError where there is none of that name."""
    found = _ROOT.match(text)
    if found is None:
        raise ValueError(_EXPECTED + text)
    path, place = list[str](), found.end()
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise ValueError(_EXPECTED + text)
        path.append(part[part.lastindex or 0])
        place = part.end()
    named = Variable(found[1], tuple(path))
    if not _is_known(named):
        raise ValueError(_EXPECTED + text)
    return named


def _is_known(named: Variable) -> bool:
    """Return whether a grader can know the value: of the answer's choice it reads what was said, not how it ended."""
    if named.root == "sample.choices":
        return _CHOICE.fullmatch("".join(f".{part}" for part in named.path)) is not None
    return bool(named.path) if named.root == "item" else not (named.path and named.root == "sample.output_text")


def shown(named: Variable, item: Mapping[str, Any], output_text: str) -> str:
    """Return the text of a variable's value: a text as it is, another value as JSON.

    Raises InvalidSpec for a field that the row lacks, and NoAnswer for one that the output lacks.
    """
    if named.root == "sample.output_text":
        return output_text
    if named.root == "item":
        return _shown(_within(item, named.path, InvalidSpec(
            f"invalid_variable_error: {named} is not in the task row")))
    lacking = NoAnswer(f"sample_parse_error: {named} is not in the output")
    if named.root == "sample.output_json":
        return _shown(_within(_parsed(output_text), named.path, lacking))
    choice = _choice(item, output_text)
    value = [choice] if named.root == "sample.choices" else choice["message"]["tool_calls"] or []
    return _shown(_within(value, named.path, lacking, texts=True)) if named.path else _shown(value)


def sample_of(item: Mapping[str, Any], output_text: str) -> dict[str, Any]:
    """Return the `sample` of OpenAI's python graders. `output_json` is null where the output is not JSON."""
    choice = _choice(item, output_text)
    try:
        read = row_json.plain(_parsed(output_text))
    except NoAnswer:
        read = None
    return {"output_text": output_text, "output_json": read, "output_tools": choice["message"]["tool_calls"] or [],
            "choices": [choice]}


def _within(value: Any, path: Sequence[str], lacking: Exception, texts: bool = False) -> Any:
    """Return the value at a path. `texts`: a path may go on in the JSON of a text, as in the arguments of a call."""
    for key in path:
        if texts and isinstance(value, str):
            value = _read(value)
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and len(key) < 10 and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise lacking
    if value is None:
        raise lacking
    return value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(text: str) -> Any:
    try:
        return row_json.read(text)
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=8)
def _parsed(output_text: str) -> Any:
    try:
        return row_json.read(output_text, strict=True)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(f"sample_parse_error: the output is not JSON ({error})") from error


def _choice(item: Mapping[str, Any], output_text: str) -> dict[str, Any]:
    """Return the answer as OpenAI's API shows it: without why it ended, which no grader of texts reads."""
    content, calls = content_and_calls(output_text, tools_of(item.get("tools")))
    made = [{"id": f"call_{place}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for place, call in enumerate(calls)]
    return {"index": 0, "message": {"role": "assistant", "content": content, "tool_calls": made or None}}


def tools_of(given: Any) -> Tools | None:
    """Return the tools in OpenAI's format, as the field `tools` of a row holds them; None where it holds none."""
    if not isinstance(given, list) or not given:
        return None
    functions = [one.get("function") if isinstance(one, dict) else None for one in given]
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in functions):
        return None
    return [{"type": "function", "function": {**one, "parameters": _object(one.get("parameters"))}}
            for one in functions if one is not None]


def _object(schema: Any) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else {"type": "object"}
