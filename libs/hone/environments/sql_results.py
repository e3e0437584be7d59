"""Compares the results of two queries."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

from hone.environments.sql_reading import Table

Comparison: TypeAlias = Literal["multiset", "set30"]
"""multiset: all rows that are read, each as often as it occurs. set30: the first 30 rows as a set (TRUST-SQL's code).
"""

_SET_ROWS = 30
_TOLERANCE = 1e-9
_WIDE = 1e-2
Row: TypeAlias = tuple[Any, ...]


def same(found: Table, gold: Table, ordered: bool, comparison: Comparison = "multiset") -> bool:
    """Return whether two results are equal. `ordered`: their rows also have to come in the same order (multiset only).

    Columns are compared by their places, not by their names. NULL equals NULL. Two numbers are equal if they are the
    same, or if one is a float and they differ by at most 1e-9 of the larger one. Text never equals a number.
    """
    if comparison == "set30":
        return set(found.rows[:_SET_ROWS]) == set(gold.rows[:_SET_ROWS])
    if (len(found.columns), len(found.rows), found.more) != (len(gold.columns), len(gold.rows), gold.more):
        return False
    names = _names(chain.from_iterable((*found.rows, *gold.rows)))
    one, other = (_named(table.rows, names) for table in (found, gold))
    return one == other if ordered else Counter(one) == Counter(other)


def same_set(found: Table, gold: Table) -> bool:
    """Return whether two results have the same rows, however often and in whatever order (BIRD)."""
    names = _names(chain.from_iterable((*found.rows, *gold.rows)))
    return set(_named(found.rows, names)) == set(_named(gold.rows, names)) and found.more == gold.more


def same_columns(found: Table, gold: Table, ordered: bool, extra: int) -> bool:
    """Return whether every column of the gold result is one of those found, beside at most `extra` others (Spider 2).

    Numbers may differ by 0.01, and NULL counts as 0. Not `ordered`: each column is sorted by itself.
    """
    if len(found.rows) != len(gold.rows) or len(found.columns) > len(gold.columns) + extra or found.more or gold.more:
        return False
    known, wanted = (_vectors(table, ordered) for table in (found, gold))
    return all(any(all(map(_close, one, other)) for other in known) for one in wanted)


def _vectors(table: Table, ordered: bool) -> list[list[Any]]:
    columns = [[0 if row[place] is None else row[place] for row in table.rows] for place in range(len(table.columns))]
    return columns if ordered else [sorted(column, key=_rank) for column in columns]


def _rank(cell: Any) -> tuple[str, Any]:
    return ("number", cell) if isinstance(cell, int | float) else (type(cell).__name__, cell)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or abs(one - other) <= _WIDE
    return bool(one == other)


def _names(cells: Iterator[Any]) -> dict[Any, int]:
    """Return a number for each number among the cells; those that count as equal have the same one.

    Equality within a tolerance is made transitive: a chain of neighbours is one number.
    """
    names, name, before = dict[Any, int](), -1, None
    for cell in sorted((cell for cell in set(cells) if isinstance(cell, int | float)), key=_place):
        name += before is None or not _equal(before, cell)
        names[cell], before = name, cell
    return names


def _place(number: float) -> tuple[float, bool]:
    return number, isinstance(number, float)


def _equal(one: float, other: float) -> bool:
    return one == other or (
        (isinstance(one, float) or isinstance(other, float))
        and math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE**2))


def _named(rows: Sequence[Row], names: dict[Any, int]) -> list[Row]:
    return [tuple((names[cell],) if isinstance(cell, int | float) else cell for cell in row) for row in rows]
