"""Tables of an environment's snapshot: of a SQLite database, or of JSON."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hone.environments.sql_tables import TooManyRows, read_tables
from hone.environments.statements import StatementError

StoredRow: TypeAlias = Mapping[str, Any]
Format: TypeAlias = Literal["sqlite", "json"]

MOST_ROWS, MOST_BYTES = 20_000, 2**24
"""Rows of all tables of a state, and bytes of a database."""
KEY = "@key"
"""Column with the key of a row, where a table of JSON is an object of rows by their keys."""


class NoTables(ValueError):
    """There are no tables where they should be. The message says what was found and what was expected."""


@dataclass(frozen=True)
class StoredTable:
    """The rows of a table, its primary key (empty: none is known), and its columns (empty: not known)."""

    rows: Sequence[StoredRow]
    key: Sequence[str] = ()
    columns: Sequence[str] = ()


Tables: TypeAlias = Mapping[str, StoredTable]


def tables(value: Any, format: Format) -> dict[str, StoredTable]:
    """Return the tables in a value of a snapshot. Raises NoTables, and TooManyRows."""
    read = from_sqlite(value) if format == "sqlite" else from_json(value)
    if sum(len(table.rows) for table in read.values()) > MOST_ROWS:
        raise TooManyRows(MOST_ROWS)
    return read


def from_sqlite(value: Any) -> dict[str, StoredTable]:
    """Return the tables of a database, given as its file in base64. Only tables are read, no views.

    Values of the type BLOB become texts as SQLite writes them: x'00ff'. Raises NoTables, also for a database that
    costs too much to read, and TooManyRows.
    """
    try:
        database = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        database = b""
    if not database.startswith(b"SQLite format 3\0") or len(database) > MOST_BYTES:
        raise NoTables(f"found {_shown(value)}, expected a SQLite file of at most {MOST_BYTES} bytes in base64")
    try:
        return {name: StoredTable([dict(zip(table.columns, map(_cell, row), strict=True)) for row in table.rows],
                                  table.key, table.columns) for name, table in read_tables(database, MOST_ROWS).items()}
    except StatementError as error:
        raise NoTables(f"found a database that cannot be read ({error}), expected a SQLite file") from error


def from_json(value: Any) -> dict[str, StoredTable]:
    """Return the tables of JSON: lists of objects by their names, or objects of rows by their keys. Raises NoTables."""
    if not isinstance(value, Mapping):
        raise NoTables(f"found {_shown(value)}, expected an object of tables by their names")
    return {name: _table(name, rows) for name, rows in value.items()}


def _table(name: str, given: Any) -> StoredTable:
    if isinstance(given, Mapping) and all(isinstance(row, Mapping) for row in given.values()):
        return StoredTable([{KEY: key, **row} for key, row in given.items()], [KEY])
    if isinstance(given, list) and all(isinstance(row, Mapping) for row in given):
        return StoredTable(given)
    raise NoTables(f"{name}: found {_shown(given)}, expected a list of rows, or rows by their keys")


def _cell(value: Any) -> Any:
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
