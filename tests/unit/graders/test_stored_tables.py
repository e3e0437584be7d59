"""Tables of snapshots, as databases and as JSON."""

import base64
from typing import Any

import pytest

from hone.environments.sql_tables import TooManyRows
from hone.environments.statements import scripted
from hone.graders.stored_tables import MOST_ROWS, NoTables, tables


def encoded(script: str) -> str:
    return base64.b64encode(scripted(script)).decode()


def test_a_database_has_tables_with_their_keys() -> None:
    found = tables(encoded("""CREATE TABLE "a b" (x TEXT, y INTEGER, z REAL, PRIMARY KEY (y, x)); CREATE TABLE c (d);
        INSERT INTO "a b" VALUES ('q', 1, 0.5); INSERT INTO c VALUES (x'00ff'), (NULL);
        CREATE VIEW v AS SELECT * FROM c;"""), "sqlite")
    assert {name: (table.rows, table.key) for name, table in found.items()} == {
        "a b": ([{"x": "q", "y": 1, "z": 0.5}], ["y", "x"]), "c": ([{"d": "x'00ff'"}, {"d": None}], [])}


def test_json_has_lists_of_rows_or_rows_by_their_keys() -> None:
    found = tables({"a": [{"x": 1}], "b": {"k": {"x": 2}}}, "json")
    assert (found["a"].rows, found["a"].key) == ([{"x": 1}], ())
    assert (found["b"].rows, found["b"].key) == ([{"@key": "k", "x": 2}], ["@key"])


@pytest.mark.parametrize(("value", "format", "message"), [
    ("no base64!", "sqlite", "expected a SQLite file"), (base64.b64encode(b"text").decode(), "sqlite", "SQLite file"),
    (None, "sqlite", "found None"), ([], "json", "expected an object of tables"), ({"a": 3}, "json", "a: found 3"),
    (base64.b64encode(b"SQLite format 3\0" + b"x" * 5000).decode(), "sqlite", "cannot be read"),
])
def test_what_holds_no_tables_is_refused(value: Any, format: Any, message: str) -> None:
    with pytest.raises(NoTables, match=message):
        tables(value, format)


def test_too_many_rows_are_refused() -> None:
    many = f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {MOST_ROWS}) SELECT i FROM n"
    with pytest.raises(TooManyRows):
        tables(encoded(f"CREATE TABLE a (x); INSERT INTO a {many};"), "sqlite")
