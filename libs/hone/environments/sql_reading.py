"""Reads a database by SQL: a query's rows, the tables and columns that it uses, and whether it orders its rows.

Queries cost as little as all `statements`. They write nothing: an allow-list has the actions that a query may take.
"""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hone.environments.statements import PRAGMAS, QUERY_BYTES, StatementError, queried

MOST_ROWS = 10_000
"""Rows of a result that are compared."""
_RESULT_BYTES = 2**24
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
            sqlite3.SQLITE_PRAGMA}
_MASTER = "sqlite_master"
_METADATA = {_MASTER, *(f"pragma_{name}" for name in PRAGMAS)}
_UNREADABLE = ("syntax error", "unrecognized token", "incomplete input", "one statement", "no statement")
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+|[()]", re.DOTALL)


_PART = re.compile(_TOKEN.pattern + "|[,;]", re.DOTALL)


class NotSql(StatementError):
    """The text cannot be read as one SQL statement."""


class NotMetadata(StatementError):
    """A query for metadata reads something else."""


@dataclass(frozen=True)
class Table:
    """The result of a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    more: bool  # whether there are rows beyond those


@dataclass(frozen=True)
class OrderTerm:
    """A term of ORDER BY in the text of a query: where its expression begins and ends, and where it ends itself."""

    start: int
    expression_end: int
    end: int
    places_nulls: bool  # whether it says where NULL comes


def read(
    database: bytes, sql: str, most: int = MOST_ROWS, *, metadata: bool = False, budget: int = QUERY_BYTES
) -> Table:
    """Return the first `most` rows of a query. `metadata`: it may read sqlite_master and pragmas alone. It
    may move `budget` bytes.

    Raises StatementError; of its kinds, NotSql for a text that is no statement, and NotMetadata.
    """
    beyond = list[str]()

    def allowed(action: int, first: str | None, _: str | None, __: str | None) -> bool:
        if metadata and action == sqlite3.SQLITE_READ and (first or "").lower() not in _METADATA:
            beyond.append(first or "")
            return False
        return _reads(action, first)

    try:
        return queried(database, lambda connection: _fetched(connection, sql, most), allowed, budget)
    except StatementError as error:
        if beyond:
            raise NotMetadata(f"it reads {beyond[0]}, expected sqlite_master and PRAGMA alone") from error
        if any(words in str(error) for words in _UNREADABLE):
            raise NotSql(str(error)) from error
        raise


def used(database: bytes, sql: str) -> dict[str, Any]:
    """Return the schema that a query uses, `{"tables": [...], "columns": {table: [...]}}`, names as in the database.

    SQLite itself resolves names, aliases, `*` and views (a view is a table of its own), so what it reads is what a
    parser of the SQL would find. What USING and NATURAL join is found in the text. Raises StatementError.
    """
    reads = set[tuple[str, str, str]]()

    def allowed(action: int, first: str | None, second: str | None, inside: str | None) -> bool:
        if action == sqlite3.SQLITE_READ and (first or "").lower() not in _METADATA:
            reads.add((first or "", second or "", inside or ""))
        return _reads(action, first)

    def made(connection: sqlite3.Connection) -> dict[str, Any]:
        connection.execute(sql).close()
        known = frozenset(reads)
        views = {name for name, kind in _named(connection) if kind == "view"}
        own = {(table, column) for table, column, inside in known if inside not in views}
        found = own | set(_joined(connection, sql, {table for table, _ in own}))
        named = sorted({table for table, _ in found})
        return {"tables": named, "columns": {
            table: sorted(column for of, column in found if of == table and column) for table in named}}

    return queried(database, made, allowed)


def tables(database: bytes) -> list[str]:
    """Return the names of a database's tables and views."""
    found = read(database, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    return [str(name) for (name,) in found.rows]


def ordered(sql: str) -> bool:
    """Return whether a query orders its rows: whether it has an ORDER BY outside of parentheses."""
    depth, before = 0, ""
    for token in _tokens(sql):
        depth += (token == "(") - (token == ")")
        if depth == 0 and (before, token) == ("order", "by"):
            return True
        before = token
    return False


def order_terms(sql: str) -> list[OrderTerm]:
    """Return the terms of a query's ORDER BY outside of parentheses, in order."""
    terms, begun, depth, before = list[OrderTerm](), -1, 0, ""
    expression = end = 0
    for found in _PART.finditer(sql):
        token = found[0].lower()
        depth += (token == "(") - (token == ")")
        if begun >= 0 and depth == 0 and token in (",", ";", "limit"):
            terms.append(OrderTerm(begun, expression or end, end, before == "nulls"))
            begun, expression = found.end() if token == "," else -1, 0
        elif begun >= 0 and depth == 0 and token in ("asc", "desc", "nulls"):
            expression = expression or end
        elif depth == 0 and (before, token) == ("order", "by"):
            begun, expression = found.end(), 0
        if token[:2] not in ("--", "/*"):
            end, before = found.end(), "nulls" if before == "nulls" and token in ("first", "last") else token
    return [*terms, OrderTerm(begun, expression or end, end, before == "nulls")] if begun >= 0 else terms


def _reads(action: int, first: str | None) -> bool:
    """Whether an action reads. SQLite asks to update sqlite_master when a table-valued pragma is used first."""
    return action in _READING or (action == sqlite3.SQLITE_UPDATE and first == _MASTER)


def _fetched(connection: sqlite3.Connection, sql: str, most: int) -> Table:
    cursor = connection.execute(sql)
    if cursor.description is None:
        raise sqlite3.ProgrammingError("there is no statement that returns rows")
    rows, size = list[tuple[Any, ...]](), 0
    for row in cursor:
        if len(rows) == most:
            break
        size += sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if size > _RESULT_BYTES:
            raise sqlite3.OperationalError(f"the result is larger than {_RESULT_BYTES} bytes")
        rows.append(row)
    else:
        return Table([name for name, *_ in cursor.description], rows, more=False)
    columns = [name for name, *_ in cursor.description]
    cursor.close()
    return Table(columns, rows, more=True)


def _named(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    quoted = table.replace('"', '""')
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{quoted}")')]


def _joined(connection: sqlite3.Connection, sql: str, read: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the tables and columns that are joined by USING and NATURAL, which SQLite does not report as read."""
    found = list(_tokens(sql))
    if not {"using", "natural"} & set(found):
        return
    said = {token.removeprefix('"') for token in found}
    used_here = [name for name, _ in _named(connection) if name in read or name.lower() in said]
    columns = {name: _columns(connection, name) for name in used_here}
    named = {name for place, token in enumerate(found) if token == "using" for name in _listed(found[place + 1:])}
    if "natural" in found:
        every = [column.lower() for names in columns.values() for column in names]
        named |= {name for name in every if every.count(name) > 1}
    yield from ((table, column) for table, names in columns.items() for column in names if column.lower() in named)


def _listed(tokens: list[str]) -> list[str]:
    """Return the names in parentheses at the beginning of tokens."""
    if not tokens or tokens[0] != "(" or ")" not in tokens:
        return []
    return [name.removeprefix('"') for name in tokens[1:tokens.index(")")]]


def _tokens(sql: str) -> Iterator[str]:
    """Yield a statement's words and parentheses in lower case, quoted names behind a `"`. It skips texts and comments.
    """
    for found in _TOKEN.finditer(sql.lower()):
        token = found[0]
        if token[0] in "\"`[":
            yield f'"{token[1:-1]}'
        elif token[0] not in "'-/":
            yield token
