"""Reads all tables of a SQLite database, at a limited cost. Views and virtual tables are left out."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hone.environments.statements import StatementError, queried

_BYTES = 8_000_000_000
"""Bytes that reading may move, as for the queries of a grader."""
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_FUNCTION})


class TooManyRows(ValueError):
    """There are more rows than may be read."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} rows")


@dataclass(frozen=True)
class WholeTable:
    """All rows of a table, by its columns, and the columns of its primary key; none where it has no key."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    key: Sequence[str]


def read_tables(database: bytes, most: int) -> dict[str, WholeTable]:
    """Return the tables of a database by name, with at most `most` rows together.

    Raises TooManyRows, and StatementError for bytes that are no database or cost too much.
    """
    def read(connection: sqlite3.Connection) -> dict[str, WholeTable]:
        found, left = dict[str, WholeTable](), most
        for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' "
                "AND coalesce(sql, '') NOT LIKE 'create virtual%' ORDER BY name").fetchall():
            found[name] = _table(connection, name, left)
            left -= len(found[name].rows)
            if left < 0:
                raise TooManyRows(most)
        return found

    try:
        return queried(database, read, lambda action, *_: action in _READING, _BYTES)
    except sqlite3.Error as error:  # of bytes that are no database, before anything is read
        raise StatementError(str(error)) from error


def _table(connection: sqlite3.Connection, name: str, most: int) -> WholeTable:
    quoted = '"' + name.replace('"', '""') + '"'
    key = {place: column for _, column, _, _, _, place in connection.execute(f"PRAGMA table_info({quoted})") if place}
    cursor = connection.execute(f"SELECT * FROM {quoted}")
    columns = [column[0] for column in cursor.description]
    return WholeTable(columns, cursor.fetchmany(most + 1), [key[place] for place in sorted(key)])
