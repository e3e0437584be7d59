"""The right end state of tables: a row's own tables, or its changes to the first state."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from hone.environments.cell_classes import hard_equal
from hone.graders.contract import InvalidSpec
from hone.graders.stored_tables import NoTables, StoredTable, Tables, from_json
from hone.spec.findings import first
from hone.spec.parameters import Strict


class RowChange(Strict):
    """Rows that have these values, and the values that they get."""

    where: dict[str, Any] = Field(min_length=1)
    set: dict[str, Any] = Field(min_length=1)


class TableChange(Strict):
    """Changes of a table, in this order."""

    removed: list[dict[str, Any]] = Field([], description="Values of rows that go.")
    changed: list[RowChange] = Field([])
    added: list[dict[str, Any]] = Field([])


_CHANGES = TypeAdapter(dict[str, TableChange])


def truths(text: str, field: str, before: Tables) -> list[dict[str, StoredTable]]:
    """Return the right end states in a JSON text: one object, or a list of alternatives.

    `field`: expected (tables) or changes. A table that is not named there is as in the first state. Raises InvalidSpec.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InvalidSpec(f"{field}: found {text[:200]!r}, expected JSON ({error})") from None
    states = given if isinstance(given, list) else [given]
    if not states:
        raise InvalidSpec(f"{field}: found no state, expected at least one")
    made = _replaced if field == "expected" else _changed
    return [made(one, f"{field}[{place}]" if isinstance(given, list) else field, before)
            for place, one in enumerate(states)]


def _replaced(given: Any, at: str, before: Tables) -> dict[str, StoredTable]:
    try:
        tables = from_json(given)
    except NoTables as error:
        raise InvalidSpec(f"{at}: {error}") from None
    for name, table in tables.items():
        _check_columns(f"{at}.{name}", table.rows, before.get(name))
    return {**before, **{name: _like(table, before.get(name)) for name, table in tables.items()}}


def _changed(given: Any, at: str, before: Tables) -> dict[str, StoredTable]:
    try:
        changes = _CHANGES.validate_python(given)
    except ValidationError as error:
        wrong = first(error, at)
        raise InvalidSpec(f"{wrong.field}: found {str(wrong.found)[:100]}, expected added, removed and changed rows "
                          f"({wrong.expected})") from None
    after = dict(before)
    for name, change in changes.items():
        if name not in before:
            raise InvalidSpec(f"{at}: found table {name!r}, expected one of the first state: {', '.join(before)}")
        after[name] = _with(before[name], change, f"{at}.{name}")
    return after


def _with(table: StoredTable, change: TableChange, at: str) -> StoredTable:
    _check_columns(at, [*change.removed, *change.added, *(one.where | one.set for one in change.changed)], table)
    rows = [dict(row) for row in table.rows]
    gone = {place for row in change.removed for place in _places(rows, row, f"{at}.removed")}
    for one in change.changed:
        for place in _places(rows, one.where, f"{at}.changed"):
            rows[place] |= one.set
    kept = [row for place, row in enumerate(rows) if place not in gone]
    return StoredTable([*kept, *change.added], table.key, table.columns)


def _places(rows: Sequence[Mapping[str, Any]], where: Mapping[str, Any], at: str) -> list[int]:
    found = [place for place, row in enumerate(rows)
             if all(hard_equal(row.get(column), value) for column, value in where.items())]
    if not found:
        raise InvalidSpec(f"{at}: found {json.dumps(where)[:200]}, expected values of a row of the first state")
    return found


def _check_columns(at: str, rows: Sequence[Mapping[str, Any]], table: StoredTable | None) -> None:
    known = columns_of(table) if table else set()
    for row in rows:
        strange = [column for column in row if known and column not in known]
        if strange:
            raise InvalidSpec(f"{at}: found column {strange[0]!r}, expected one of {', '.join(sorted(known))}")


def columns_of(table: StoredTable) -> set[str]:
    """Return the names of a table's columns; none where it has no rows that say so."""
    return set(table.columns) or {column for row in table.rows for column in row}


def _like(table: StoredTable, first: StoredTable | None) -> StoredTable:
    return table if first is None else StoredTable(table.rows, table.key or first.key, first.columns)
