"""Chains over tables as models write them, V-tableR1, arXiv 2604.20755. Both grammars are Hone's.

`json`: a step is a line of its own, usually inside the reasoning, and the answer stands in a tag behind it:

    {"op": "sum", "cells": [[1, 2, "12"], [3, 2, "7"]], "result": "19"}
    <answer>19</answer>

`line`, for small models: every line is a step, and the last one is the answer:

    sum 1,2=12; 3,2=7 -> 19
    answer: 19
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hone.graders.table_rules import Cell, TableStep
from hone.text.reasoning import spoken

Syntax = Literal["json", "line"]
LONGEST = 64
"""Most steps of a chain that are read, and most cells of a step."""

_LINE = re.compile(r"([a-z]+)(?: ([^>]*))? -> (.*)")
_CELL = re.compile(r"(\d{1,4}),(\d{1,4})=(.*)")
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_ANSWER = "answer: "


@dataclass(frozen=True)
class Read:
    """A step, and its characters in the text from `start` to before `end`."""

    step: TableStep
    start: int
    end: int


@dataclass(frozen=True)
class Chain:
    """Content of a text. `answer` is None without an answer; `formed`: nothing in it broke the grammar."""

    steps: Sequence[Read]
    answer: str | None
    formed: bool


def read(text: str, syntax: Syntax) -> Chain:
    """Return the chain in a whole output, with its reasoning. What cannot be read is no step."""
    steps, broken = list[Read](), False
    for start, line in _lines(text):
        if not _claims(line, syntax):
            continue
        step = _STEPS[syntax](line) if len(steps) < LONGEST else None
        broken = broken or step is None
        steps += [Read(step, start, start + len(line))] if step else []
    answers = _answers(text, syntax)
    return Chain(steps, answers[-1] if answers else None, bool(steps) and not broken and len(answers) == 1)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with the place of their first character, without blanks around them."""
    place = 0
    for line in text.split("\n"):
        yield place + len(line) - len(line.lstrip()), line.strip()
        place += len(line) + 1


def _claims(line: str, syntax: Syntax) -> bool:
    """Return whether a line has to be a step."""
    return line.startswith("{") if syntax == "json" else bool(line) and not line.startswith(_ANSWER)


def _answers(text: str, syntax: Syntax) -> list[str]:
    if syntax == "json":
        return [inside.strip() for inside in _TAGGED.findall(spoken(text))]
    return [line.removeprefix(_ANSWER).strip() for _, line in _lines(text) if line.startswith(_ANSWER)]


def _of_json(line: str) -> TableStep | None:
    try:
        given = json.loads(line)
        cells = [Cell(_place(row), _place(column), _shown(value)) for row, column, value in given["cells"]]
        return TableStep(given["op"], cells, _shown(given["result"])) if _fits(given["op"], cells) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _fits(op: Any, cells: Sequence[Cell]) -> bool:
    return isinstance(op, str) and len(cells) <= LONGEST


def _place(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError("a row or column is not a whole number")
    return given


def _shown(given: Any) -> str:
    """Return a value as text; a number may stand without quotes."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise TypeError("a value is neither text nor number")
    return str(given)


def _of_line(line: str) -> TableStep | None:
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    given = found[2].split(";") if found[2] else []
    named = [_CELL.fullmatch(cell.strip()) for cell in given]
    cells = [Cell(int(cell[1]), int(cell[2]), cell[3]) for cell in named if cell]
    return TableStep(found[1], cells, found[3]) if len(cells) == len(given) and _fits(found[1], cells) else None


_STEPS: Mapping[Syntax, Callable[[str], TableStep | None]] = {"json": _of_json, "line": _of_line}
