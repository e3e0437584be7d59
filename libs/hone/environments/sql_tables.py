"""Reads SQLite databases as rows and snapshots hold them, and all of their tables, at a limited cost."""

import sqlite3
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hone.environments.statements import StatementError, queried, scripted

_BYTES = 8_000_000_000
"""Bytes that reading may move, as for the queries of a grader."""
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_FUNCTION})


_MAGIC = b"SQLite format 3\0"
_FILE = b64encode(_MAGIC)[:-3].decode()
"""Begins the base64 of every SQLite file, and no SQL script."""
_JOURNALS, _ROLLBACK = slice(18, 20), b"\x01\x01"
"""Bytes of a file's header that say how it is written: one in WAL mode cannot be opened in memory."""
_MOST_ROWS = 1_000_000


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


def made(given: str) -> bytes:
    """Return the database that a text stands for: a SQLite file in base64, or the script that makes it.

    A file is read once as a whole. Raises StatementError.
    """
    if not given.lstrip().startswith(_FILE):
        return scripted(given)
    try:
        file = bytearray(b64decode("".join(given.split()), validate=True))
    except NotBase64 as error:
        raise StatementError(f"found a SQLite file that is not base64 ({error})") from error
    file[_JOURNALS] = _ROLLBACK
    try:
        read_tables(bytes(file), _MOST_ROWS)
    except TooManyRows as error:
        raise StatementError(f"found {error}") from error
    return bytes(file)


def read_tables(database: bytes, most: int) -> dict[str, WholeTable]:
    """Return the tables of a database by name, with at most `most` rows together. Views are left out.

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
