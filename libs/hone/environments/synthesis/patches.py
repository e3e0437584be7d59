"""States as an author writes them: what is otherwise than in another state, so that equal rows need not be repeated."""

from typing import Any, TypeAlias

from hone.environments.packages.calling import MOST_STATE_BYTES
from hone.environments.packages.package import Manifest, Tables, TableSpec
from hone.environments.packages.state_form import wrong_row
from hone.environments.synthesis.rows import dangling

Patch: TypeAlias = dict[str, dict[str, dict[str, Any] | None]]
"""By table and key: cells that are others, or all cells of a new row; None: the row is gone."""


def patched(tables: Tables, patch: Patch) -> Tables:
    """Return a state with the changes of a patch. No row is shared with `tables`."""
    after = {name: {key: dict(row) for key, row in rows.items()} for name, rows in tables.items()}
    for name, changes in patch.items():
        rows = after.setdefault(name, {})
        for key, cells in changes.items():
            if cells is None:
                rows.pop(key, None)
            else:
                rows[key] = {**rows.get(key, {}), **cells}
    return after


def wrong_tables(manifest: Manifest, tables: Tables) -> str:
    """Return the fault of a state; empty: none."""
    if set(tables) != {spec.name for spec in manifest.tables}:
        return f"expected the tables {', '.join(spec.name for spec in manifest.tables)}, found {', '.join(tables)}"
    size = len(str(tables))
    if size > MOST_STATE_BYTES // 2:
        return f"expected a state of at most {MOST_STATE_BYTES // 2} characters, found {size}"
    wrong = [why for spec in manifest.tables for key, row in tables[spec.name].items()
             if (why := _wrong(spec, key, row))]
    if wrong:
        return wrong[0]
    lost = dangling(manifest.tables, tables)
    return f"{lost[0]}: expected the key of a row that is there" if lost else ""


def _wrong(spec: TableSpec, key: str, row: dict[str, Any]) -> str:
    columns = {column.name for column in spec.columns}
    if set(row) != columns:
        return f"{spec.name}.{key}: expected the columns {', '.join(sorted(columns))}, found {', '.join(row)}"
    wrong = wrong_row(spec, key, row)
    return f"{wrong.field}: expected {wrong.expected}, found {wrong.found}" if wrong else ""
