"""Templates such as `{{ item.answer }}`: fields of the task row and the sample are put into a text, in one pass."""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any

from pydantic import AfterValidator

from hone.environments import row_json
from hone.graders.contract import InvalidSpec, NoAnswer, NoReference
from hone.trajectory.order import PrivilegedText

LONGEST, MOST_RENDERED = 20_000, 2**22
"""Characters of a template, and of a text that is made of it: a row may be a mebibyte, and a template repeat it."""

_KNOWN = re.compile(r"item(\.[^.\s]+)+|sample\.output_text|sample\.output_json(\.[^.\s]+)*")


def _checked(template: str) -> str:
    if len(template) > LONGEST:
        raise ValueError(f"at most {LONGEST} characters, not {len(template)}")
    for variable in _cut(template)[1::2]:
        if not _KNOWN.fullmatch(variable.strip()):
            raise ValueError("variables under item, sample.output_text or sample.output_json, not " + variable.strip())
    return template


def _cut(template: str) -> list[str]:
    """Return the literal texts of a template with the variables between them, in a time that grows with its length."""
    parts, place = list[str](), 0
    while (opened := template.find("{{", place)) >= 0 and (closed := template.find("}}", opened + 2)) >= 0:
        parts += template[place:opened], template[opened + 2:closed]
        place = closed + 2
    return [*parts, template[place:]]


Template = Annotated[str, AfterValidator(_checked)]
"""A text with variables. An unknown variable makes the grader's parameters invalid."""


def variables(template: str) -> list[str]:
    """Return the variables of a template in order, for instance `item.answer`. Raises ValueError for an unknown one."""
    return [variable.strip() for variable in _cut(_checked(template))[1::2]]


def rendered(template: str, item: dict[str, Any], output_text: str) -> str:
    """Return the template with its variables replaced. Variables inside replaced values stay as they are.

    Texts are inserted unchanged, other values as JSON, numbers of an output as they were written. Raises InvalidSpec
    for a field that the row lacks, and for a text that would be too long. Raises NoAnswer where `sample.output_json`
    needs JSON or a field that the output lacks.
    """
    literals, variables = _parsed_template(template)
    known: dict[str, str] = {}
    values, length = list[str](), 0
    for variable in variables:
        name = ".".join(variable)
        if name not in known:
            known[name] = _text(variable, item, output_text)
        values.append(known[name])
        length += len(known[name])
        if length > MOST_RENDERED:
            raise InvalidSpec(f"other_error: a template makes a text of more than {MOST_RENDERED} characters")
    return "".join(chain.from_iterable(zip(literals, values, strict=False))) + literals[-1]


def filled(texts: Iterable[PrivilegedText], item: Mapping[str, Any]) -> list[PrivilegedText]:
    """Return texts with the item's fields; without those that are empty, or name a field which the item lacks."""
    found = list[PrivilegedText]()
    for one in texts:
        with suppress(InvalidSpec):
            found.append(one.model_copy(update={"text": rendered(one.text, dict(item), "")}))
    return [one for one in found if one.text]


def of_row(template: str, item: dict[str, Any]) -> str:
    """Return a template that reads the task row alone, rendered. Raises InvalidSpec, and NoReference for others."""
    if any(not variable.startswith("item.") for variable in variables(template)):
        raise NoReference(f"the reference {template!r} reads the output")
    return rendered(template, item, "")


@lru_cache(maxsize=1024)
def _parsed_template(template: str) -> tuple[list[str], list[list[str]]]:
    """Return the literal texts, and the path of the variable after each of them but the last."""
    parts = _cut(template)
    return parts[::2], [variable.strip().split(".") for variable in parts[1::2]]


def _text(path: list[str], item: dict[str, Any], output_text: str) -> str:
    name = ".".join(path)
    if path[0] == "item":
        return _shown(_field(item, path[1:], InvalidSpec, f"invalid_variable_error: {name} is not in the task row"))
    if path[1] == "output_text":
        return output_text
    return _shown(_field(_parsed(output_text), path[2:], NoAnswer, f"sample_parse_error: {name} is not in the output"))


def _field(value: Any, path: list[str], missing: type[Exception], reason: str) -> Any:
    for key in path:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise missing(reason)
    if value is None:
        raise missing(reason)
    return value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=8)
def _parsed(output_text: str) -> Any:
    try:
        return row_json.read(output_text)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(f"sample_parse_error: the output is no JSON ({error})") from error
