"""The environment of hidden schemas: rows, limits of what is seen, and states that can be rebuilt."""

from typing import Any

import pytest

from hone.environments.contract import EpisodeOver, WrongParams
from hone.environments.sql_databases import QUESTIONS
from hone.environments.sql_exploration import SqlEpisode, SqlExploration, SqlExplorationParams
from hone.environments.sql_reading import read
from hone.environments.statements import scripted
from hone.environments.tasks import make
from hone.environments.tools import ToolCall

ROW = {"prompt": "sum of b?", "gold": "SELECT sum(b) FROM t", "evidence": "b is money", "name": "shop",
       "database": "CREATE TABLE t (a, b); INSERT INTO t VALUES ('x', 1), ('y', 2.5); CREATE TABLE u (c);"}
PROPOSAL = {"tables": ["t"], "columns": {"t": ["b"]}}


def begun(item: dict[str, Any] | None = None, seed: int = 3, **params: Any) -> SqlEpisode:
    one = SqlExploration().episode(SqlExplorationParams(**params), seed, item)
    one.reset()
    return one


def said(one: SqlEpisode, tool: str, **arguments: Any) -> str:
    [message] = one.step(ToolCall(tool, arguments).action()).observation.messages
    return str(message["content"])


def test_a_row_is_explored_proposed_tried_and_confirmed() -> None:
    one = begun(ROW)
    assert one.reset().messages[0]["content"] == "Database: shop\nKnown: b is money\nsum of b?\n"
    assert said(one, "explore_schema", sql="SELECT name FROM sqlite_master") == "name\nt\nu\n"
    assert said(one, "propose_schema", **PROPOSAL, joins=[]) == "schema noted: 1 tables, 1 columns\n"
    assert said(one, "generate_sql", sql="SELECT total(b) FROM t") == "total(b)\n3.5\n"
    end = one.step(ToolCall("confirm_answer", {"sql": "SELECT total(b) FROM t"}).action())
    assert (end.done, end.valid, end.observation.messages) == (True, True, [])
    item = end.observation.item
    assert (item["executed"], item["verified"], item["schema"], item["proposed"]) == (1.0, 1.0, PROPOSAL, PROPOSAL)
    assert (item["tables_seen"], item["tables_needed"]) == (2, 1)
    with pytest.raises(EpisodeOver):
        one.step(ToolCall("generate_sql", {"sql": "SELECT 1"}).action())


@pytest.mark.parametrize(("sql", "executed"), [
    ("SELECT 3.5", 1.0), ("SELECT 3", 0.2), ("SELECT c FROM t", 0.0), ("SELEC", 0.0), ("DELETE FROM t", 0.0)])
def test_a_confirmed_query_is_right_or_runs_or_fails(sql: str, executed: float) -> None:
    end = begun(ROW).step(ToolCall("confirm_answer", {"sql": sql}).action())
    assert (end.done, end.observation.item["executed"]) == (True, executed)


@pytest.mark.parametrize(("tool", "arguments", "valid", "words"), [
    ("generate_sql", {"sql": "SELECT c FROM t"}, True, "error: no such column: c"),
    ("generate_sql", {"sql": "SELEC"}, False, "syntax error"),
    ("generate_sql", {"sql": "DROP TABLE t"}, True, "error: not authorized"),
    ("explore_schema", {"sql": "SELECT b FROM t"}, True, "1\n2.5"),
    ("propose_schema", {"tables": ["t"]}, False, "columns: a value"),
    ("propose_schema", {"tables": "t", "columns": {}}, False, "tables: "),
    ("propose_schema", {"tables": [1], "columns": {}}, False, "tables.0: "),
    ("fly", {}, False, "no tool fly"), (None, {"text": "{"}, False, "no tool call"),
])
def test_only_what_cannot_be_read_is_invalid(
        tool: str | None, arguments: dict[str, Any], valid: bool, words: str) -> None:
    taken = begun(ROW).step(ToolCall(tool, arguments).action())
    assert (taken.valid, taken.done, words in taken.observation.messages[0]["content"]) == (valid, False, True)


def test_exploring_can_be_kept_to_metadata() -> None:
    one = begun(ROW, metadata_only=True)
    assert "expected sqlite_master" in said(one, "explore_schema", sql="SELECT b FROM t")
    assert "a|" in said(one, "explore_schema", sql="PRAGMA table_info(t)")
    assert said(one, "generate_sql", sql="SELECT b FROM t") == "b\n1\n2.5\n"


def test_what_is_seen_is_cut_to_rows_and_characters() -> None:
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c"
    assert said(begun(ROW, shown_rows=3), "generate_sql", sql=endless) == "n\n1\n2\n3\n...\n"
    assert len(said(begun(ROW, shown_characters=20), "generate_sql", sql=endless)) == 21


def test_the_last_proposal_counts_and_turns_are_limited() -> None:
    one = begun(ROW, turns=2)
    said(one, "propose_schema", tables=[], columns={})
    end = one.step(ToolCall("propose_schema", PROPOSAL).action())
    assert (end.done, end.observation.item["proposed"], end.observation.item["executed"]) == (True, PROPOSAL, 0.0)


def test_an_episode_is_rebuilt_and_forked_in_its_state() -> None:
    one, other = begun(), begun()
    fork = one.fork()
    said(one, "propose_schema", **PROPOSAL)
    assert one.state_hash() != fork.state_hash() == other.state_hash()
    other.restore(one.snapshot())
    assert (other.state_hash(), other.snapshot()) == (one.state_hash(), one.snapshot())


@pytest.mark.parametrize("seed", range(40))
def test_every_generated_question_has_an_answer_and_a_schema(seed: int) -> None:
    item = begun(seed=seed, rows=5).reset().item
    assert item["schema"]["tables"]
    assert make("sql_exploration", {}, seed) == make("sql_exploration", {}, seed)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_each_kind_of_question_can_be_asked_of_the_smallest_database(kind: str) -> None:
    params: dict[str, Any] = {
        "min_tables": 2, "max_tables": 2, "min_columns": 2, "max_columns": 2, "rows": 1, "questions": [kind]}
    begun(None, 1, **params)


@pytest.mark.parametrize(("change", "field"), [
    ({"gold": "SELECT nope FROM t"}, "item.gold"), ({"gold": "DELETE FROM t"}, "item.gold"),
    ({"gold": ""}, "item.gold"), ({"database": "CREATE"}, "item.database"), ({"prompt": 3}, "item.prompt"),
    ({"evidence": 3}, "item.evidence")])
def test_a_row_whose_gold_sql_or_script_fails_is_no_task(change: dict[str, Any], field: str) -> None:
    with pytest.raises(WrongParams) as refused:
        begun({**ROW, **change})
    assert refused.value.field == field


@pytest.mark.parametrize(("params", "words"), [
    ({"min_tables": 9, "max_tables": 8}, "min_tables"), ({"questions": ["why"]}, "questions among"),
    ({"max_tables": 500, "max_columns": 30, "rows": 1000}, "at most 200000")])
def test_sizes_are_checked(params: dict[str, Any], words: str) -> None:
    with pytest.raises(WrongParams, match=words):
        make("sql_exploration", params, 1)


def test_a_question_about_hundreds_of_tables_reads_its_own_database() -> None:
    one = begun(min_tables=200, max_tables=250, rows=2)
    found = read(scripted(one._asked.script), "SELECT count(*) FROM sqlite_master")
    assert found.rows[0][0] >= 200
