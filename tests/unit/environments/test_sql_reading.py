"""Reading a database by SQL: results are compared as results, names are resolved, and nothing is written."""

import pytest

from hone.environments.sql_reading import NotMetadata, NotSql, Table, ordered, read, used
from hone.environments.sql_results import same
from hone.environments.statements import StatementError, scripted

DATABASE = scripted("""
CREATE TABLE t (a INTEGER PRIMARY KEY, b, c); CREATE TABLE u (x, a); CREATE TABLE other (b);
CREATE VIEW v AS SELECT a, b FROM t WHERE c > 1;
INSERT INTO t VALUES (1, 2.5, 3), (2, NULL, 'x'), (3, 2.5, 4); INSERT INTO u VALUES (1, 1), (2, 2);
""")


@pytest.mark.parametrize(("sql", "columns"), [
    ("SELECT count(*) FROM t", {"t": []}),
    ("SELECT * FROM t", {"t": ["a", "b", "c"]}),
    ("SELECT T.B FROM T", {"t": ["b"]}),
    ("SELECT one.b FROM t AS one ORDER BY c", {"t": ["b", "c"]}),
    ("SELECT t.b, u.x FROM t JOIN u ON t.a = u.a", {"t": ["a", "b"], "u": ["a", "x"]}),
    ("SELECT b FROM t JOIN u USING (a)", {"t": ["a", "b"], "u": ["a"]}),
    ("SELECT b FROM t NATURAL JOIN u", {"t": ["a", "b"], "u": ["a"]}),
    ("WITH w AS (SELECT * FROM u) SELECT x FROM w", {"u": ["a", "x"]}),
    ("SELECT (SELECT x FROM u WHERE u.a = t.a) FROM t WHERE EXISTS (SELECT 1 FROM other)",
     {"t": ["a"], "u": ["a", "x"], "other": []}),
    ("SELECT a FROM v", {"v": ["a"]}),
    ("SELECT max(b) OVER (ORDER BY c) FROM t", {"t": ["b", "c"]}),
])
def test_the_schema_of_a_query_is_what_it_uses(sql: str, columns: dict[str, list[str]]) -> None:
    found = used(DATABASE, sql)
    assert found == {"tables": sorted(columns), "columns": columns}


@pytest.mark.parametrize(("sql", "expected"), [
    ("SELECT a FROM t order /* x */ by a", True), ("SELECT a FROM (SELECT a FROM t ORDER BY a)", False),
    ("SELECT 'x ORDER BY a'", False), ('SELECT "order" by FROM t', False), ("SELECT 1 -- ORDER BY a", False),
    ("SELECT sum(a) OVER (ORDER BY a) FROM t", False),
    ("SELECT a FROM t UNION SELECT a FROM u ORDER BY 1", True)])
def test_only_an_order_of_the_whole_query_counts(sql: str, expected: bool) -> None:
    assert ordered(sql) is expected


@pytest.mark.parametrize("sql", [
    "INSERT INTO t VALUES (7, 7, 7)", "DROP TABLE t", "CREATE TABLE w (a)", "UPDATE sqlite_master SET sql = ''",
    "DELETE FROM t", "PRAGMA writable_schema = 1", "ATTACH ':memory:' AS w", "SELECT nope FROM t",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT hex(zeroblob(900 + 0 * n)) FROM c"])
def test_what_does_not_only_read_or_costs_too_much_fails(sql: str) -> None:
    with pytest.raises(StatementError) as failed:
        read(DATABASE, sql, 10**6)
    assert not isinstance(failed.value, NotSql)


@pytest.mark.parametrize("sql", ["SELEC 1", "", "-- nothing", "SELECT 1; SELECT 2", "SELECT (", "SELECT 'a"])
def test_what_is_no_statement_differs_from_what_fails(sql: str) -> None:
    with pytest.raises(NotSql):
        read(DATABASE, sql)


@pytest.mark.parametrize("sql", [
    "SELECT name FROM sqlite_master", "SELECT sql FROM sqlite_schema", "PRAGMA table_info(t)",
    "PRAGMA foreign_key_list(u)", "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p"])
def test_metadata_can_be_read_alone(sql: str) -> None:
    read(DATABASE, sql, metadata=True)


@pytest.mark.parametrize("sql", ["SELECT 1 FROM t", "SELECT name FROM sqlite_master WHERE name IN (SELECT x FROM u)"])
def test_data_is_no_metadata(sql: str) -> None:
    with pytest.raises(NotMetadata, match="expected sqlite_master and PRAGMA"):
        read(DATABASE, sql, metadata=True)


def table(*rows: tuple[object, ...], more: bool = False) -> Table:
    return Table(["column"] * len(rows[0]) if rows else ["column"], list(rows), more)


@pytest.mark.parametrize(("one", "other", "expected"), [
    (table((1,), (2,)), table((2,), (1,)), True),
    (table((1,), (1,)), table((1,)), False),
    (table((1,), (1,), (2,)), table((1,), (2,), (2,)), False),
    (table((1,)), table((1.0,)), True),
    (table((0.1 + 0.2, "b"), (0.3, "a")), table((0.3, "b"), (0.1 + 0.2, "a")), True),
    (table((1.0,)), table((1.001,)), False),
    (table((0.0,)), table((1e-30,)), True),
    (table((9007199254740993,)), table((9007199254740992,)), False),
    (table((None,)), table((None,)), True),
    (table((None,)), table((0,)), False),
    (table(("1",)), table((1,)), False),
    (table((b"1",)), table(("1",)), False),
    (table((1, 2)), table((2, 1)), False),
    (table(), table(), True),
    (table((1,), more=True), table((1,)), False),
])
def test_results_are_compared_as_multisets_of_rows(one: Table, other: Table, expected: bool) -> None:
    assert same(one, other, ordered=False) is expected
    assert same(other, one, ordered=False) is expected


def test_an_ordered_result_has_to_come_in_order() -> None:
    assert not same(table((1,), (2,)), table((2,), (1,)), ordered=True)
    assert same(table((1.0,), (2,)), table((1,), (2,)), ordered=True)


def test_the_first_thirty_rows_as_a_set_are_the_papers_comparison() -> None:
    many = table(*((number,) for number in range(40)))
    assert same(many, table(*((number,) for number in range(30))), ordered=True, comparison="set30")
    assert same(table((1,), (1,)), table((1,)), ordered=True, comparison="set30")
    assert not same(table((1,)), table((2,)), ordered=False, comparison="set30")
