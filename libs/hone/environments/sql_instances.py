"""Other databases of the same kind: one with fewer rows, and one whose rows are stored the other way round.

A query that is right for one database by coincidence, such as a constant in the place of a count, is wrong for a
database with other rows. One whose result depends on the order of the stored rows has no right result at all.
"""

import sqlite3
import zlib

from hone.environments.statements import content, queried

_BYTES = 16_000_000_000
"""Bytes that may be moved to make a database."""
_COPY = "rows the other way round"


def with_fewer_rows(database: bytes, number: int) -> bytes:
    """Return the database without about half of its rows, others for each number. Raises StatementError.

    Of a table that others refer to, a quarter goes, and then all rows that refer to none. So keys stay keys, and what
    is true for every row, or for every pair of rows, stays true.
    """
    def used(connection: sqlite3.Connection) -> bytes:
        tables = _tables(connection)
        keys = {(table, *key) for table in tables for key in _foreign_keys(connection, table)}
        parents = {parent.lower() for _, _, parent, _ in keys}
        for table in tables:
            share = 4 if table.lower() in parents else 2
            gone = [(row,) for (row,) in connection.execute(f"SELECT rowid FROM {_quoted(table)}")
                    if zlib.crc32(f"{number} {table} {row}".encode()) // 7 % share == 0]
            connection.executemany(f"DELETE FROM {_quoted(table)} WHERE rowid = ?", gone)
        for _ in tables:
            if not sum(_orphans(connection, *key) for key in sorted(keys)):
                break
        connection.commit()
        return content(connection)

    return queried(database, used, budget=_BYTES)


def turned_round(database: bytes) -> bytes:
    """Return the database with its tables' rows stored the other way round, without indexes. Raises StatementError."""
    def used(connection: sqlite3.Connection) -> bytes:
        for table in _tables(connection):
            connection.execute(f"CREATE TABLE {_quoted(_COPY)} AS SELECT * FROM {_quoted(table)} ORDER BY rowid DESC")
            connection.execute(f"DROP TABLE {_quoted(table)}")
            connection.execute(f"CREATE TABLE {_quoted(table)} AS SELECT * FROM {_quoted(_COPY)} ORDER BY rowid")
            connection.execute(f"DROP TABLE {_quoted(_COPY)}")
        connection.commit()
        return content(connection)

    return queried(database, used, budget=_BYTES)


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables whose rows have numbers, and whose texts compare as a copy's would."""
    found = connection.execute("SELECT name, lower(sql) FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [name for name, sql in found.fetchall() if not name.startswith("sqlite_")
            and "without rowid" not in " ".join(sql.split()) and "collate" not in sql]


def _foreign_keys(connection: sqlite3.Connection, table: str) -> list[tuple[str, str, str]]:
    """Return the keys of one column: the column, the table that it refers to, and that table's column."""
    found = connection.execute(f"PRAGMA foreign_key_list({_quoted(table)})").fetchall()
    wide = {number for number, place, *_ in found if place > 0}
    named = [(column, parent, to or _primary_key(connection, parent))
             for number, _, parent, column, to, *_ in found if number not in wide]
    return [(column, parent, to) for column, parent, to in named if to]


def _primary_key(connection: sqlite3.Connection, table: str) -> str:
    found = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    return next((str(name) for _, name, _, _, _, place in found if place), "")


def _orphans(connection: sqlite3.Connection, table: str, column: str, parent: str, to: str) -> int:
    """Delete the rows that refer to none, and return how many they were."""
    child, key = _quoted(table), _quoted(column)
    return connection.execute(f"DELETE FROM {child} WHERE {key} IS NOT NULL AND {key} NOT IN "
                              f"(SELECT {_quoted(to)} FROM {_quoted(parent)})").rowcount


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
