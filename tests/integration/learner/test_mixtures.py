"""A run on a mixture: its groups, its evaluations and their scores, in front of rows that stand in for all others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.learner.loop import Loop, Row, chance

MIXTURE: list[Row] = [
    {"name": "sort", "weight": 2, "environment": "sort_digits", "sampling": {"max_tokens": 9}},
    {"name": "even", "weight": 1, "environment": "even_digits"},
    {"name": "sql", "weight": 1, "environment": "sqlite", "harness": {"name": "tool_loop", "params": {"max_turns": 2}},
     "grader": {"type": "environment"}}]
MIXED: Row = {
    "task": {"mixture": MIXTURE}, "steps": 3, "batch": {"prompts": 8, "samples": 2},
    "eval": {"prompts": 4, "every": 2, "samples": 3, "sources": [
        {"name": "sql"}, {"name": "long", "environment": "sort_digits", "params": {"digits": 9}}]}}
GROUPS = ("SELECT purpose, series, source, task_hash, \"order\" FROM groups WHERE run_id = %s "
          "ORDER BY purpose, request_no")


def answer(group: Row, index: int) -> tuple[str, float, str]:
    return "1", chance(group, index), "ok"


def refusing(source: str) -> Callable[[Row], str]:
    return lambda group: "its grader is away" if group["source"] == source else ""


@pytest.fixture
def scene(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Callable[..., Loop]:
    return lambda **changes: Loop(postgres_url, postgres_owner_url, tmp_path, answer, **{**MIXED, **changes})


def test_other_drivers_draw_the_same_sources_and_each_group_is_asked_as_its_source_says(
    scene: Callable[..., Loop],
) -> None:
    found = []
    for restarts in (False, True):
        run = scene()
        assert run.go(restarts) == "succeeded"
        found.append(run.all(GROUPS, run.rows.run_id))
    first, second = ([{name: row[name] for name in ("purpose", "series", "source", "task_hash")} for row in rows]
                     for rows in found)
    assert first == second
    orders = {row["source"]: row["order"] for row in found[0] if row["purpose"] == "train"}
    assert {name: (one["harness"], one["grader"], one["sampling"]["max_tokens"]) for name, one in orders.items()} == {
        "sort": ("chat", None, 9), "even": ("chat", None, 256), "sql": ("tool_loop", {"type": "environment"}, 256)}


def test_an_evaluation_keeps_the_score_of_each_task_of_each_source(scene: Callable[..., Loop]) -> None:
    run = scene()
    assert run.go() == "succeeded"
    kept = run.all("SELECT step, source, series, tasks, scores FROM evaluations WHERE run_id = %s "
                   "ORDER BY step, source, series", run.rows.run_id)
    assert [(row["step"], row["source"], row["series"]) for row in kept] == [
        (step, source, series) for step in (0, 2, 3) for source in ("long", "sql") for series in ("greedy", "sampled")]
    for source in ("long", "sql"):
        [tasks] = {tuple(row["tasks"]) for row in kept if row["source"] == source}
        assert len(set(tasks)) == 4
    asked = run.all(GROUPS, run.rows.run_id)
    assert {(row["series"], row["order"]["n"]) for row in asked if row["purpose"] == "eval"} == {
        ("greedy", 1), ("sampled", 3)}
    found: dict[str, Any] = {row["name"]: row["value"] for row in run.all(
        "SELECT name, value FROM metrics WHERE run_id = %s AND step = 3", run.rows.run_id)}
    for row in kept:
        if row["step"] == 3:
            mean = sum(row["scores"]) / len(row["scores"])
            assert found[f"source/{row['source']}/eval/{row['series']}"] == pytest.approx(mean)
    assert found["eval/sampled"] == pytest.approx(
        (found["source/sql/eval/sampled"] + found["source/long/eval/sampled"]) / 2)


def test_a_source_of_which_every_group_is_refused_ends_the_run_as_a_task_alone_would(
    scene: Callable[..., Loop],
) -> None:
    run = scene(eval=None, refuses=refusing("even"), steps=9)
    assert run.go() == "failed"
    reason = run.one("SELECT reason FROM runs WHERE id = %s", run.rows.run_id)
    assert reason.startswith("train group ")
    assert reason.endswith("its grader is away")
    refused = run.all("SELECT source FROM groups WHERE run_id = %s AND refused IS NOT NULL", run.rows.run_id)
    assert [row["source"] for row in refused] == ["even"] * len(refused)
    assert len(refused) >= 4


def test_the_first_group_of_a_rare_source_may_be_refused_for_what_is_in_it(scene: Callable[..., Loop]) -> None:
    refused = list[int]()

    def once(group: Row) -> str:
        if group["source"] == "even" and len(refused) < 2:
            refused.append(group["id"])
        return "its prompt is too long" if group["id"] in refused else ""

    run = scene(eval=None, refuses=once, steps=6)
    assert run.go() == "succeeded"
    assert len(refused) == 2
    assert run.one("SELECT count(*) FROM groups WHERE run_id = %s AND source = 'even' AND state = 'used'",
                   run.rows.run_id) > 0
