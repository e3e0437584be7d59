"""Templates such as `{{ item.answer }}`: fields of the task row and the sample are put into a text, in one pass."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any

from pydantic import AfterValidator

from hone.graders.contract import InvalidSpec, NoReference
from hone.graders.variables import Variable, shown, variable
from hone.trajectory.order import PrivilegedText

LONGEST, MOST_RENDERED = 20_000, 2**22
"""Characters of a template, and of a text that is made of it: a row may be a mebibyte, and a template repeat it."""


def _checked(template: str) -> str:
    if len(template) > LONGEST:
        raise ValueError(f"at most {LONGEST} characters, not {len(template)}")
    for text in _cut(template)[1::2]:
        variable(text.strip())
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


def variables(template: str) -> list[Variable]:
    """Return the variables of a template in order, for instance `item.answer`. Raises ValueError for an unknown one."""
    return [variable(text.strip()) for text in _cut(_checked(template))[1::2]]


def whole(template: str) -> Variable | None:
    """Return the variable that is the whole template; None where there is more, or none."""
    parts = _cut(template.strip())
    return variable(parts[1].strip()) if len(parts) == 3 and not parts[0] + parts[2] else None


def columns(template: str) -> set[str]:
    """Return the fields of the task row that a template reads. Raises ValueError for an unknown variable."""
    return {one.path[0] for one in variables(template) if one.root == "item"}


def rendered(template: str, item: dict[str, Any], output_text: str) -> str:
    """Return the template with its variables replaced. Variables inside replaced values stay as they are.

    Texts are inserted unchanged, other values as JSON, numbers of an output as they were written. Raises InvalidSpec
    for a field that the row lacks, and for a text that would be too long. Raises NoAnswer for JSON, a
    tool call or a field that the output lacks.
    """
    literals, named = _parsed_template(template)
    known: dict[Variable, str] = {}
    values, length = list[str](), 0
    for one in named:
        if one not in known:
            known[one] = shown(one, item, output_text)
        values.append(known[one])
        length += len(known[one])
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
    if any(one.root != "item" for one in variables(template)):
        raise NoReference(f"the reference {template!r} reads the output")
    return rendered(template, item, "")


@lru_cache(maxsize=1024)
def _parsed_template(template: str) -> tuple[list[str], list[Variable]]:
    """Return the literal texts, and the variable after each of them but the last."""
    parts = _cut(template)
    return parts[::2], [variable(text.strip()) for text in parts[1::2]]
