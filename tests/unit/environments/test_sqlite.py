"""The SQLite environment: solvable questions, a tool that reads, and no access beyond the episode's memory."""

import json
import sqlite3
from pathlib import Path

import pytest

from hone.environments.contract import EpisodeOver, WrongParams
from hone.environments.sqlite import Sqlite, SqliteEpisode, SqliteParams
from hone.environments.tools import ToolCall

ROW = {"database": "CREATE TABLE t (a TEXT, b INTEGER); INSERT INTO t VALUES ('x', 1), ('y', 2.5);",
       "prompt": "sum of b?", "answer": "3.5"}


def begun(item: dict[str, str] | None = None, seed: int = 3, **params: int) -> SqliteEpisode:
    one = Sqlite().episode(SqliteParams(**params), seed, item)  # type: ignore[arg-type]
    one.reset()
    return one


def query(sql: str) -> str:
    return ToolCall("query", {"sql": sql}).action()


def said(one: SqliteEpisode, action: str) -> str:
    [message] = one.step(action).observation.messages
    assert message["role"] == "tool"
    return message["content"]


def test_a_row_is_asked_queried_and_answered() -> None:
    one = begun(ROW)
    assert said(one, query("SELECT a, b FROM t ORDER BY a")) == "x|1\ny|2.5\n"
    end = one.step("3.50\n")
    assert (end.done, one.verify(), end.observation.item["verified"]) == (True, 1.0, 1.0)
    with pytest.raises(EpisodeOver):
        one.step("4")


@pytest.mark.parametrize("seed", range(30))
def test_every_generated_question_is_answered_by_its_own_query(seed: int) -> None:
    one = begun(seed=seed, rows=8)
    asked = one.reset().messages[0]["content"].strip()
    function = {"how": "count(*)", "total": "total(price)", "highest": "max(price)"}[asked.split()[0]]
    answer = said(one, query(f"SELECT {function} FROM items WHERE kind = '{asked[-2]}'"))
    assert one.step(answer).done
    assert one.verify() == 1.0


@pytest.mark.parametrize("answer", ["nan", "Infinity", " x ", "7.0"])
def test_every_answer_equals_itself(answer: str) -> None:
    episode = Sqlite().episode(SqliteParams(), 0, {"prompt": "?", "database": "CREATE TABLE t (a);", "answer": answer})
    episode.step(answer)
    assert episode.verify() == 1


def test_a_wrong_answer_scores_zero_and_an_episode_without_one_too() -> None:
    one = begun(ROW, turns=2)
    assert one.verify() == 0.0
    one.step(query("SELECT 1"))
    last = one.step(query("SELECT 2"))
    assert (last.done, last.observation.turns_left, one.verify()) == (True, 0, 0.0)
    other = begun(ROW)
    assert (other.step("7").done, other.verify()) == (True, 0.0)


@pytest.mark.parametrize(("action", "words"), [
    (query("SELEC 1"), "syntax error"),
    (query("SELECT c FROM t"), "no such column"),
    (query("SELECT 1; SELECT 2"), "one statement"),
    (ToolCall("query", {}).action(), "sql: "),
    (ToolCall("drop", {}).action(), "no tool drop; there are query"),
    (ToolCall(None, {"text": "{"}).action(), "no tool call that could be read"),
    (query("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"), "interrupted"),
    (query("SELECT random()"), "not authorized"),
    (query("PRAGMA max_page_count = 1000000000"), "not authorized"),
    (query("SELECT zeroblob(10000000)"), "too big"),
    (query("CREATE TEMP TABLE u AS SELECT zeroblob(99000) FROM t"), "not authorized"),
    (query("CREATE TEMP VIEW u AS SELECT 1"), "not authorized"),
    (query(f"SELECT {', '.join(['1'] * 501)}"), "too many columns"),
])
def test_a_forbidden_query_is_reported_and_ends_nothing(action: str, words: str) -> None:
    one = begun(ROW)
    taken = one.step(action)
    assert words in taken.observation.messages[0]["content"]
    assert (taken.valid, taken.effect, taken.done) == (False, False, False)


@pytest.mark.parametrize("sql", ["ATTACH '{path}' AS other", "VACUUM INTO '{path}'"])
def test_no_file_can_be_reached(sql: str, tmp_path: Path) -> None:
    one = begun(ROW)
    taken = one.step(query(sql.format(path=tmp_path / "out.db")))
    assert not taken.valid
    assert list(tmp_path.iterdir()) == []


def test_rows_are_read_only_as_far_as_they_are_shown() -> None:
    endless = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
               "SELECT n, printf('%.*c', {width}, 'a') FROM c")
    wide, narrow = (said(begun(ROW), query(endless.format(width=width))) for width in (90_000, 1))
    assert (len(wide), wide[:4]) == (2_001, "1|aa")
    assert narrow.splitlines()[-1] == "200|a"


def test_a_change_is_the_episodes_own_and_changes_its_state() -> None:
    one, other = begun(ROW), begun(ROW)
    assert one.step(query("DELETE FROM t WHERE b = 1")).effect
    assert said(one, query("SELECT count(*) FROM t")) == "1\n"
    assert said(other, query("SELECT count(*) FROM t")) == "2\n"
    assert not other.step(query("SELECT 1")).effect


def test_equal_actions_end_in_equal_databases() -> None:
    actions = [query("CREATE TABLE u AS SELECT b FROM t"), query("UPDATE u SET b = b + 1"), query("SELECT * FROM u")]
    runs = [[taken.observation.state_hash for taken in map(begun(ROW).step, actions)] for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3


def test_a_tool_is_described_as_functions_are() -> None:
    [tool] = begun(ROW).reset().tools or []
    assert tool["function"]["name"] == "query"
    assert tool["function"]["parameters"]["required"] == ["sql"]
    assert json.dumps(tool)


@pytest.mark.parametrize("dear", [
    "instr(hex(zeroblob(49000)), hex(zeroblob(24000)) || n)",
    "trim(hex(zeroblob(24000)), replace(hex(zeroblob(20000)), '00', 'b') || '0' || n)",
    "hex(zeroblob(49000)) || n GLOB '*[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]b'",
    "hex(zeroblob(49000)) || n LIKE '%_0_0_0_0_0_0_0_0_0_0_0_0_0_0_0_0b'",
    "length(replace(hex(zeroblob(49000)), hex(zeroblob(24000)) || n, ''))",
    "length(upper(lower(hex(zeroblob(49000 + 0 * n)))))",
])
def test_what_costs_the_square_of_its_length_is_not_done_often(dear: str) -> None:
    numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 800) "
    taken = begun(ROW).step(query(f"{numbers} SELECT sum({dear}) FROM c"))
    assert "costs too much" in taken.observation.messages[0]["content"]


@pytest.mark.parametrize("sql", [
    "SELECT json_patch('{}', '{}')", "CREATE VIRTUAL TABLE u USING fts5(a)",
])
def test_what_no_budget_counts_is_refused(sql: str) -> None:
    assert "not authorized" in said(begun(ROW), query(sql))


@pytest.mark.parametrize("function", [
    "like('A%', 'abc')", "like('a!%', 'a%', '!')", "'abc' LIKE NULL", "5 LIKE 5.0", "x'6162' LIKE 'AB'",
    "glob('a*', 'abc')", "instr(x'0102', x'02')", "instr('abc', 'c')", "instr(1234, 34)", "replace('abc', 'b', 1.5)",
    "replace(NULL, 'a', 'b')", "trim('xxaxx', 'x')", "ltrim(1001, 1)", "rtrim('a  ', ' ')", "trim(' a ')",
    "printf('%5.1f|%s', 2.25, NULL)", "format('%d', 7)", "length(printf('%.*c', 50000, 'a'))",
    "length(hex(zeroblob(30000)))", "length(printf('%200000d', 1))",
])
def test_functions_that_are_paid_for_answer_as_sqlites_own_do(function: str) -> None:
    [own] = sqlite3.connect(":memory:").execute(f"SELECT {function}").fetchone()
    limited = None if function == "length(printf('%200000d', 1))" else own  # longer than any value may be
    assert said(begun(ROW), query(f"SELECT {function}")) == f"{limited}\n"


def test_long_texts_are_read_as_short_ones_are() -> None:
    text = "word " * 3000
    rows = ", ".join(f"('{text}{place}', {place})" for place in range(300))
    one = begun({**ROW, "database": f"CREATE TABLE t (a TEXT, b INTEGER); INSERT INTO t VALUES {rows};"})
    assert said(one, query("SELECT count(*), max(length(a)) FROM t WHERE a LIKE '%word 29%'")) == "11|15003\n"


def test_a_script_is_bounded_in_all_its_statements() -> None:
    few = "SELECT length(upper(hex(zeroblob(900))));"
    assert begun({**ROW, "database": "CREATE TABLE t (a);" + "INSERT INTO t VALUES (1);" * 10_000}).reset()
    with pytest.raises(WrongParams, match="costs too much"):
        begun({**ROW, "database": few * 50_000})


def test_a_rows_content_is_its_text_and_its_script_is_not_carried_out_for_it() -> None:
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"
    row = {**ROW, "database": endless}
    content = Sqlite().content(SqliteParams(), 0, row)  # type: ignore[call-arg]
    assert content == {"database": endless, "question": ROW["prompt"]}
    with pytest.raises(WrongParams, match="costs too much"):
        begun(row)


def test_an_answer_of_endless_brackets_is_an_answer() -> None:
    taken = begun(ROW).step("[" * 5000)
    assert (taken.done, taken.valid) == (True, True)
