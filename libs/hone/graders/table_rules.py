"""The rule critic of V-tableR1's text variant, arXiv 2604.20755: checks each step of a chain against its table.

The step schema and the checks are Hone's. A table's rows are its cells as displayed, from 0 on.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

Table = Sequence[Sequence[str]]
"""Rows of cells as displayed. Anchors count rows and columns from 0."""

_NUMBER = re.compile(
    r"[$€£¥]?\s*([+-]?)\s*[$€£¥]?\s*([0-9]{1,3}(?:,[0-9]{3}){1,30}|[0-9]{1,100})?(\.[0-9]{1,100})?\s*[%$€£¥]?")
_TOLERANCE = Fraction(1, 10_000)


@dataclass(frozen=True)
class Cell:
    """An anchor, and the value that the step quotes there."""

    row: int
    column: int
    value: str


@dataclass(frozen=True)
class TableStep:
    """One step of a chain, with values and results as displayed."""

    op: str
    cells: Sequence[Cell]
    result: str


def step_scores(table: Table, chain: Sequence[TableStep], answer: str) -> list[float]:
    """s_j = share of passed checks of each step; [] for a chain without steps.

    Checks: 1 all anchors exist; 2 each quoted value equals its cell; 3 `op` on the quoted values gives the result; 4 a
    later step quotes or concludes the result, or the result is the answer. A step without anchors, or with an anchor
    that does not exist, scores 0. `conclude` needs no anchor: its checks are an earlier step with its result, without
    which it scores 0, and check 4.
    """
    return [_score(table, chain, place, answer) for place in range(len(chain))]


def parse_number(text: str) -> Fraction | None:
    """Return the number that `text` displays, thousands separators, % and currency signs stripped, or None."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or not (found[2] or found[3]):
        return None
    return Fraction(found[1] + (found[2] or "0").replace(",", "") + (found[3] or ""))


def same(first: str, second: str) -> bool:
    """Return whether two displayed values are equal: as numbers, else as text without case and surplus white space."""
    numbers = parse_number(first), parse_number(second)
    return numbers[0] == numbers[1] if None not in numbers else _plain(first) == _plain(second)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _score(table: Table, chain: Sequence[TableStep], place: int, answer: str) -> float:
    step = chain[place]
    if not all(_exists(table, cell) for cell in step.cells):
        return 0.0
    used = same(step.result, answer) or any(_uses(later, step.result) for later in chain[place + 1:])
    if step.op == "conclude":
        grounded = any(same(earlier.result, step.result) for earlier in chain[:place])
        return (1 + used) / 2 if grounded else 0.0
    if not step.cells:
        return 0.0
    quoted = all(same(cell.value, table[cell.row][cell.column]) for cell in step.cells)
    recomputed = step.op in _RECOMPUTED and _RECOMPUTED[step.op](table, step)
    return (1 + quoted + recomputed + used) / 4


def _exists(table: Table, cell: Cell) -> bool:
    return 0 <= cell.row < len(table) and 0 <= cell.column < len(table[cell.row])


def _uses(later: TableStep, result: str) -> bool:
    concluded = later.op == "conclude" and same(later.result, result)
    return concluded or any(same(cell.value, result) for cell in later.cells)


def _lookup(table: Table, step: TableStep) -> bool:
    value = step.cells[0].value
    number = parse_number(value)
    near = _near(number, step.result) if number is not None else False
    return len(step.cells) == 1 and (near or same(value, step.result))


def _filter(table: Table, step: TableStep) -> bool:
    wanted, found = "|".join(cell.value for cell in step.cells).split("|"), step.result.split("|")
    return len(wanted) == len(found) and all(map(same, wanted, found))


def _count(table: Table, step: TableStep) -> bool:
    return _near(Fraction(len(step.cells)), step.result)


def _sum(table: Table, step: TableStep) -> bool:
    numbers = _numbers(step)
    return bool(numbers) and _near(sum(numbers, Fraction(0)), step.result)


def _diff(table: Table, step: TableStep) -> bool:
    numbers = _numbers(step)
    return len(numbers) == 2 and _near(numbers[0] - numbers[1], step.result)


def _ratio(table: Table, step: TableStep) -> bool:
    numbers = _numbers(step)
    return len(numbers) == 2 and numbers[1] != 0 and _near(numbers[0] / numbers[1], step.result)


def _compare(table: Table, step: TableStep) -> bool:
    numbers = _numbers(step)
    if len(numbers) != 2:
        return False
    first, second = numbers
    return step.result.strip() == ("<" if first < second else "=" if first == second else ">")


def _extreme(table: Table, step: TableStep, pick: Callable[[list[Fraction]], Fraction]) -> bool:
    numbers = _numbers(step)
    if not numbers:
        return False
    row = step.cells[numbers.index(pick(numbers))].row
    return any(same(text, step.result) for text in table[row])


def _numbers(step: TableStep) -> list[Fraction]:
    """Return the quoted numbers, or none where a value is no number."""
    numbers = [parse_number(cell.value) for cell in step.cells]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else []


def _near(wanted: Fraction, result: str) -> bool:
    found = parse_number(result)
    return found is not None and abs(found - wanted) <= _TOLERANCE * abs(wanted)


_RECOMPUTED: Mapping[str, Callable[[Table, TableStep], bool]] = {
    "lookup": _lookup, "filter": _filter, "count": _count, "sum": _sum, "diff": _diff, "ratio": _ratio,
    "compare": _compare, "argmax": partial(_extreme, pick=max), "argmin": partial(_extreme, pick=min),
}
