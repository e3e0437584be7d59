"""Writings of a model into a memory: entries of a dictionary, edits of a store of facts, a section of a prompt."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hone.remembering.phrases import pairs

_NUMBERED = re.compile(r"(\d+):\s*(\S.*)")


def read_entries(text: str) -> dict[str, str]:
    """Return the entries that a model wrote: a JSON object of texts and numbers, or else pairs `name=value`."""
    found = _json(text)
    return pairs(text) if found is None else _texts(found)


@dataclass(frozen=True)
class Edits:
    """How a store of facts changes, by the numbers of facts."""

    add: tuple[str, ...] = ()
    update: Mapping[str, str] = field(default_factory=dict)
    delete: frozenset[str] = frozenset()


def read_edits(text: str) -> Edits:
    """Return the edits that a model wrote: a JSON object of add, update and delete, or else a line for each.

    The lines are `+ FACT`, `NUMBER: FACT` and `- NUMBER`. What is neither, or of another type, is no edit.
    """
    found = _json(text)
    if found is not None:
        add, update, delete = (found.get(name) for name in ("add", "update", "delete"))
        return Edits(tuple(one for one in _listed(add) if isinstance(one, str)),
                     _texts(update) if isinstance(update, dict) else {}, frozenset(map(str, _listed(delete))))
    lines = [one.strip() for one in text.splitlines()]
    numbered = filter(None, map(_NUMBERED.fullmatch, lines))
    return Edits(tuple(one[1:].strip() for one in lines if one.startswith("+") and one[1:].strip()),
                 {one[1]: one[2] for one in numbered},
                 frozenset(one[1:].strip() for one in lines if one.startswith("-")))


def read_section(text: str) -> str:
    """Return the section that a model wrote: `remember` of a JSON object, a list of lines too, or else the whole text.
    """
    found = _json(text)
    if found is None:
        return text
    section = found.get("remember", "")
    return "\n".join(map(str, section)) if isinstance(section, list) else str(section)


def _json(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text; None where there is none."""
    try:
        found = json.loads(text[text.index("{"):text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _texts(found: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in found.items() if isinstance(value, str | int | float)}
