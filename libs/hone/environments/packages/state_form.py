"""Limits of a package's state: values that every reader and the database can hold, in rows of their tables.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from hone.environments.packages.package import Column, Tables, TableSpec
from hone.spec.problems import Problem, found, unstorable

DEEPEST = 50
"""Levels of lists and objects in a state or a result."""
_SUSPECT = re.compile(r"\\u(?:0000|d[89a-f])")
_DIGITS = 309
"""Of a whole number that is beyond all floats, at least."""
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,), "time": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}


def unfit(value: Any) -> Problem | None:
    """Return the fault of a state, result or file of a package: text that cannot be stored, nesting that is too deep,
    a number beyond all floats; None: nothing. `value` was read from JSON.
    """
    if _is_deep(value):
        return Problem("", f"values nested more than {DEEPEST} deep", "fewer levels")
    text = json.dumps(value)  # looks at texts and numbers all at once, and nearly always there is nothing
    if _SUSPECT.search(text) and (wrong := unstorable(value, deepest=DEEPEST + 1)):
        return wrong[0]
    if max(map(len, text.split('"'))) >= _DIGITS and _has_large(value):
        return Problem("", "a whole number beyond all floats", "a smaller one")
    return None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST + 2):
        level = [inner for one in level for inner in _items(one) if type(inner) is dict or type(inner) is list]
        if not level:
            return False
    return True


def _has_large(value: Any) -> bool:
    level = [value]
    while level:
        if any(isinstance(one, int) and abs(one) > sys.float_info.max for one in level):
            return True
        level = [inner for one in level for inner in _items(one)]
    return False


def _items(value: Any) -> Iterable[Any]:
    return value.values() if type(value) is dict else value if type(value) is list else ()


def wrong_rows(specs: Mapping[str, TableSpec], tables: Tables) -> Problem | None:
    """Return the fault of the first row of a state that does not fit its table; None: none."""
    return next((wrong for name, rows in tables.items() for key, row in rows.items()
                 if (wrong := wrong_row(specs[name], key, row))), None)


def wrong_row(spec: TableSpec, key: str, row: Mapping[str, Any]) -> Problem | None:
    """Return the fault of a row under a key of a table; None: none. An optional cell may be absent."""
    at, columns = f"{spec.name}.{key}", {column.name: column for column in spec.columns}
    if strange := [name for name in row if name not in columns]:
        return Problem(f"{at}.{strange[0]}", found(row[strange[0]]), f"one of the columns {', '.join(columns)}")
    if spec.key in row and row[spec.key] != key:
        return Problem(f"{at}.{spec.key}", found(row[spec.key]), f"{key}, the row's key")
    wrong = ((name, row.get(name), _expected(column, row.get(name))) for name, column in columns.items())
    return next((Problem(f"{at}.{name}", found(cell), expected) for name, cell, expected in wrong if expected), None)


def _expected(column: Column, value: Any) -> str:
    """Return the expectation for a cell that does not fit; empty: it fits."""
    if value is None:
        return "" if column.optional else f"{column.type}, as the column is not optional"
    if not isinstance(value, _TYPES[column.type]) or (isinstance(value, bool) and column.type != "boolean"):
        return column.type
    if column.values is not None and value not in column.values:
        return f"one of {', '.join(column.values)}"
    return ""
