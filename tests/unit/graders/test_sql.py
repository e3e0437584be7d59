"""The sql grader: which results are equal, which gold queries grade nobody, and what a policy cannot get away with."""

from typing import Any

import pytest

from hone.environments.sql_instances import turned_round, with_fewer_rows
from hone.environments.sql_reading import read
from hone.environments.statements import scripted
from hone.graders.contract import Result, RightOutput, Status
from hone.graders.gold_query import ResultRule, gold
from hone.graders.judgement import judged
from hone.graders.right_answers import Ending, Standing, asked
from hone.graders.right_answers import checked as reference_checked
from hone.graders.specs import checked
from hone.spec.problems import Invalid

SHOP = """CREATE TABLE shops(id INTEGER PRIMARY KEY, city TEXT);
INSERT INTO shops VALUES (1, 'Lima'), (2, 'Oslo'), (3, 'Pune');
CREATE TABLE fruit(name TEXT, price INTEGER, shop INTEGER REFERENCES shops(id), weight TEXT, rank INTEGER);
INSERT INTO fruit VALUES ('apple', 3, 1, '9', 1), ('apple', 5, 1, '10', 2), ('pear', 4, 2, '100', 3),
 ('plum', 4, 2, '20', 4), ('fig', NULL, 3, '3', 5), ('kiwi', 7, 3, '4', 6);"""


def graded(query: str, answer: str, **fields: Any) -> Result:
    return judged(checked({"type": "sql", **fields}), {"database": SHOP, "gold": query}, answer)


@pytest.mark.parametrize(("gold", "answer", "comparison", "score"), [
    ("SELECT name FROM fruit WHERE rank < 4", "SELECT DISTINCT name FROM fruit WHERE rank < 4", "set", 1),
    ("SELECT name FROM fruit WHERE rank < 4", "SELECT DISTINCT name FROM fruit WHERE rank < 4", "multiset", 0),
    ("SELECT name FROM fruit", "SELECT name FROM fruit ORDER BY rank DESC", "multiset", 1),
    ("SELECT name FROM fruit ORDER BY rank", "SELECT name FROM fruit ORDER BY rank DESC", "multiset", 0),
    ("SELECT name FROM fruit ORDER BY rank", "SELECT name FROM fruit ORDER BY rank DESC", "set", 1),
    ("SELECT name, price FROM fruit", "SELECT price, name FROM fruit", "multiset", 0),
    ("SELECT name, price FROM fruit", "SELECT rank, coalesce(price, 0.004), name FROM fruit", "columns", 1),
    ("SELECT name, price FROM fruit", "SELECT rank, coalesce(price, 0.02), name FROM fruit", "columns", 0),
    ("SELECT name, price FROM fruit", "SELECT * FROM fruit", "columns", 0),
    ("SELECT name FROM fruit ORDER BY rank", "SELECT name FROM fruit ORDER BY -rank", "columns", 0),
    ("SELECT sum(price) FROM fruit", "SELECT sum(price) * 1.0 FROM fruit", "multiset", 1)])
def test_results_are_equal_by_their_comparison(gold: str, answer: str, comparison: str, score: float) -> None:
    found = graded(gold, answer, comparison=comparison)
    assert (found.status, found.score) == (Status.OK, score), found.reasons


def test_a_constant_is_no_count() -> None:
    gold = "SELECT count(*) FROM fruit WHERE shop = 2"
    found = graded(gold, "SELECT 2")
    assert (found.score, found.reasons) == (
        0.0, ("another result on a database with other rows: found 1 rows of 1 columns, expected 1 rows of 1 columns",))
    assert graded(gold, "SELECT 2", perturbed=0).score == 1.0
    assert graded(gold, "SELECT sum(shop = 2) FROM fruit").score == 1.0


@pytest.mark.parametrize(("gold", "words"), [
    ("SELECT colour FROM fruit", "gold: it fails: no such column"), ("DELETE FROM fruit", "gold: it fails"),
    ("SELECT name FROM fruit WHERE price > 99", "(empty)"),
    ("SELECT max(price) FROM fruit WHERE price > 99", "(empty)"),
    ("SELECT name FROM fruit WHERE price > 3 ORDER BY price LIMIT 1", "(unstable)"),
    ("SELECT shop FROM fruit GROUP BY shop ORDER BY count(*) LIMIT 1", "(unstable)"),
    ("SELECT name FROM fruit LIMIT 2", "(unstable)"), ("SELECT group_concat(name) FROM fruit", "(unstable)"),
    ("SELECT name FROM fruit ORDER BY price LIMIT 1", "(nulls)"),
    ("SELECT name FROM fruit ORDER BY weight DESC LIMIT 1", "(text_numbers)")])
def test_a_gold_query_with_a_fault_grades_nobody_unless_that_is_allowed(gold: str, words: str) -> None:
    found = graded(gold, gold)
    assert (found.status, found.score) == (Status.INVALID_SPEC, None)
    assert words in found.reasons[0]
    if "(" in words:
        assert graded(gold, gold, allow=[words.strip("()")]).score == 1.0


@pytest.mark.parametrize("gold", [
    "SELECT name FROM fruit ORDER BY price NULLS LAST, rank LIMIT 1 -- the cheapest",
    "SELECT name FROM fruit WHERE price > 0 ORDER BY CAST(weight AS INTEGER) DESC LIMIT 1;",
    "SELECT name FROM fruit ORDER BY price DESC LIMIT 1",
    "SELECT name, rank FROM fruit ORDER BY 2 DESC, (SELECT 1 ORDER BY 1 LIMIT 1) LIMIT 1",
    "SELECT name FROM fruit WHERE price > 4 UNION SELECT city FROM shops ORDER BY 1"])
def test_a_gold_query_that_decides_its_order_is_fine(gold: str) -> None:
    assert graded(gold, gold).score == 1.0


def test_equal_ranks_may_come_in_any_order() -> None:
    found = graded("SELECT name FROM fruit WHERE price > 0 ORDER BY price",
                   "SELECT name FROM fruit WHERE price > 0 ORDER BY price, rank DESC")
    assert (found.score, found.reasons) == (
        1.0, ("the gold query leaves the order of equal ranks open: no order counts",))


@pytest.mark.parametrize(("answer", "status", "words"), [
    ("I do not know.", Status.NO_ANSWER, "found no SQL"), ("```sql\n;\n```", Status.NO_ANSWER, "empty"),
    ("```python\nprint(1)\n```", Status.NO_ANSWER, "found no SQL"),
    ("So:\n```sql\nSELECT max(price) FROM fruit;\n```\n```\n7\n```", Status.OK, ""),
    ("-- highest\nSELECT max(price) FROM fruit", Status.OK, ""),
    ("```sql\nSELECT 7; SELECT 7\n```", Status.OK, "one statement"),
    ("```sql\nDELETE FROM fruit\n```", Status.OK, "the query fails"),
    ("```sql\nATTACH '/etc/passwd' AS p\n```", Status.OK, "the query fails"),
    ("```sql\nSELEC 7\n```", Status.OK, "syntax error"),
    ("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x FROM t) SELECT count(*) FROM t", Status.TIMEOUT_CANDIDATE,
     "costs too much")])
def test_what_is_run_is_one_query_that_reads(answer: str, status: Status, words: str) -> None:
    found = graded("SELECT max(price) FROM fruit", answer)
    assert (found.status, found.score) == (status, 0.0 if words else 1.0)
    assert words in " ".join(found.reasons)


def test_a_database_that_cannot_be_made_is_named() -> None:
    found = judged(checked({"type": "sql"}), {"database": "CREATE TABLE", "gold": "SELECT 1"}, "SELECT 1")
    assert found.reasons[0].startswith("other_error: database: it cannot be made: incomplete input")
    with pytest.raises(Invalid, match="only variables under item"):
        checked({"type": "sql", "gold": "{{ sample.output_text }}"})


def test_other_rows_keep_their_keys_and_turned_rows_their_values() -> None:
    database = scripted(SHOP)
    sizes = set()
    for number in range(8):
        fewer = with_fewer_rows(database, number)
        assert fewer == with_fewer_rows(database, number)
        assert read(fewer, "SELECT * FROM fruit WHERE shop NOT IN (SELECT id FROM shops)").rows == []
        sizes.add(len(read(fewer, "SELECT * FROM fruit").rows))
    assert len(sizes) > 2
    assert max(sizes) < 6
    rows = read(database, "SELECT * FROM fruit").rows
    assert read(turned_round(database), "SELECT * FROM fruit").rows == rows[::-1]


def test_other_rows_count_only_where_the_gold_query_decides() -> None:
    script = "CREATE TABLE votes(name); INSERT INTO votes VALUES " + ", ".join(
        f"('{name}')" for name in "aaaaabbbbccc") + ";"
    top = "SELECT name FROM votes GROUP BY name ORDER BY count(*) DESC LIMIT 1"
    counts = "SELECT count(*) FROM votes GROUP BY name ORDER BY 1 DESC LIMIT 2"
    found = gold(script, top, ResultRule("multiset", False), 4, frozenset())
    pairs = [[count for (count,) in read(database, counts).rows] for database, _ in found.results]
    assert len(pairs) == 5
    assert all(len(set(pair)) == len(pair) for pair in pairs)
    tried = [read(with_fewer_rows(scripted(script), number), counts).rows for number in range(12)]
    assert any(len(set(pair)) < len(pair) for pair in tried)


def test_the_gold_query_is_the_right_output() -> None:
    spec, row = checked({"type": "sql"}), {"database": SHOP, "gold": "SELECT max(price) FROM fruit"}
    assert asked(spec, row, Ending()) == RightOutput("```sql\nSELECT max(price) FROM fruit\n```")
    assert reference_checked(spec, row, Ending()).standing is Standing.RIGHT
    assert reference_checked(spec, {**row, "gold": "SELECT 1 WHERE 0"}, Ending()).standing is Standing.WRONG
