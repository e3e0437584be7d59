"""A run whose judge goes bad: its driver, a real reward service and a judge over HTTP; rows stand in for the rest."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hone import sealing
from hone.graders.labelled_answers import pairs
from tests.integration.learner.loop import Loop
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.servers.service import running

TOKEN = "the-token-of-this-stack"
RIGHT = {pair.output.strip() for pair in pairs() if pair.right}
SPEC: dict[str, Any] = {
    "steps": 6, "batch": {"prompts": 1, "samples": 2}, "judge_check": {"every": 2}, "grader": {
        "type": "score_model", "name": "s", "model": "expert", "input": [
            {"role": "user", "content": "{{ item.question }} {{ item.answer }}\n{{ sample.output_text }}"}]}}


@pytest.fixture(scope="module", autouse=True)
def reward(postgres_url: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HONE_STACK_TOKEN", TOKEN)
        with running("reward", HONE_DATABASE_URL=postgres_url):
            yield


@pytest.fixture
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        judge.verdict = RIGHT.__contains__
        yield judge


@pytest.fixture
def started(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path, judge: ScriptedJudge,
) -> Callable[..., Loop]:
    """Return what starts a run whose tenant has the judge."""
    def start(**spec: Any) -> Loop:
        loop = Loop(postgres_url, postgres_owner_url, tmp_path, lambda _, index: ("1", float(index), "ok"),
                    **{**SPEC, **spec})
        tenant = loop.rows.tenant_id
        with psycopg.connect(postgres_owner_url) as connection:
            connection.execute("INSERT INTO secrets (tenant_id, name, sealed) VALUES (%s, 'key', %s)",
                               (tenant, sealing.sealed(TOKEN, tenant, KEY)))
            connection.execute("INSERT INTO judges (tenant_id, name, url, model, secret, terms) VALUES "
                               "(%s, 'expert', %s, 'judge-1', 'key', %s)",
                               (tenant, judge.url, json.dumps({"attempts": 1})))
        return loop

    return start


def go(loop: Loop, each: Callable[[int], None] = lambda _: None) -> dict[str, Any]:
    """Let a new driver take every action until the run has ended; `each` is called with the last committed step."""
    run, deadline = loop.rows.run_id, time.monotonic() + 120
    while (row := loop.all("SELECT state, reason FROM runs WHERE id = %s", run)[0])["state"] in ("queued", "running"):
        assert time.monotonic() < deadline, loop.all("SELECT waiting_for FROM runs WHERE id = %s", run)
        loop.move()
        if not loop._sample() + loop._train():
            time.sleep(0.02)
        each(loop.one("SELECT count(*) FROM steps WHERE run_id = %s AND state = 'committed'", run))
    return row


def checks(loop: Loop) -> list[dict[str, Any]]:
    return loop.all("SELECT number, step, state, counts FROM grader_checks WHERE run_id = %s ORDER BY number",
                    loop.rows.run_id)


def test_a_judge_that_goes_bad_stops_its_run(started: Callable[..., Loop], judge: ScriptedJudge) -> None:
    """It accepts everything from step 3 on. The check after step 4 finds that, and what was committed stays."""
    def spoil(committed: int) -> None:
        if committed == 3:
            judge.verdict = lambda _: True

    loop = started()
    ended = go(loop, spoil)
    assert ended["state"] == "failed"
    assert "the judge accepts 0.8" in ended["reason"]
    assert "and 0.0469 at the first check; expected a rise of at most 0.05 (judge_check.rise)" in ended["reason"]
    assert [(one["number"], one["step"], one["state"]) for one in checks(loop)] == [
        (0, 0, "done"), (1, 2, "done"), (2, 4, "done")]
    committed = loop.one("SELECT count(*) FROM steps WHERE run_id = %s AND state = 'committed'", loop.rows.run_id)
    assert committed in (3, 4)
    kept = loop.one("SELECT count(*) FROM versions WHERE model_id = %s AND state = 'live'", loop.rows.model_id)
    assert kept == committed + 1
    events = loop.all("SELECT kind, message FROM events WHERE run_id = %s ORDER BY id", loop.rows.run_id)
    assert [event["kind"] for event in events][-2:] == ["judge.drifted", "failed"]
    assert events[-1]["message"] == events[-2]["message"] == ended["reason"]


def test_a_bad_judge_begins_no_run(started: Callable[..., Loop], judge: ScriptedJudge) -> None:
    judge.verdict = lambda _: True
    loop = started()
    ended = go(loop)
    assert ended["state"] == "failed"
    assert "the judge leaves 1 - fp - fn = 0." in ended["reason"]
    assert loop.one("SELECT count(*) FROM steps WHERE run_id = %s", loop.rows.run_id) == 0


def test_a_judge_that_is_away_lets_its_run_wait_and_another_one_is_checked_at_once(
    started: Callable[..., Loop], judge: ScriptedJudge,
) -> None:
    away, moved = iter(range(10_000)), list[int]()
    judge.verdict = lambda answer: "away" if next(away) < 20 else answer in RIGHT
    loop = started(judge_check={"every": 100}, steps=3)

    def move(committed: int) -> None:
        if committed == 1 and not moved:
            moved.append(1)
            loop.all("UPDATE judges SET model = 'judge-2' WHERE tenant_id = %s RETURNING name", loop.rows.tenant_id)
            loop.all("UPDATE judge_spending SET pinned = 'another' WHERE run_id = %s RETURNING judge", loop.rows.run_id)

    assert go(loop, move)["state"] == "succeeded"
    found = checks(loop)
    assert [one["number"] for one in found] == [0, 1]
    assert found[1]["step"] in (1, 2)
    kinds = [one["kind"] for one in loop.all("SELECT kind FROM events WHERE run_id = %s", loop.rows.run_id)]
    assert (kinds.count("judge.unchecked"), kinds.count("judge.checked")) == (1, 2)


def test_the_graders_of_all_stages_are_checked_before_the_first_step(
    started: Callable[..., Loop],
) -> None:
    """That of the second stage is the bad one: where 0 stands above the middle of its range, it accepts everything."""
    other = {**SPEC["grader"], "range": [-2.0, 1.0]}
    loop = started(stages=[{"until": 3, "name": "first"}, {"until": 6, "name": "second", "grader": other}])
    ended = go(loop)
    assert ended["state"] == "failed"
    assert "the judge leaves 1 - fp - fn" in ended["reason"]
    assert loop.one("SELECT count(*) FROM steps WHERE run_id = %s", loop.rows.run_id) == 0
    assert {one["state"] for one in checks(loop)} <= {"done", "failed"}
    labels = loop.all("SELECT label FROM grader_checks WHERE run_id = %s ORDER BY number", loop.rows.run_id)
    assert [one["label"] for one in labels] == ["first-0", "second-1"]


def test_a_later_stage_s_judge_is_checked_again_in_its_stage(started: Callable[..., Loop]) -> None:
    other = {**SPEC["grader"], "name": "other"}
    loop = started(stages=[{"until": 3, "name": "first"}, {"until": 6, "name": "second", "grader": other}])
    assert go(loop)["state"] == "succeeded"
    made = loop.all("SELECT label, step FROM grader_checks WHERE run_id = %s ORDER BY number", loop.rows.run_id)
    assert [(one["label"], one["step"]) for one in made] == [
        ("first-0", 0), ("second-1", 0), ("first-0", 2), ("second-1", 3), ("second-1", 4)]
    names = loop.all("SELECT DISTINCT name FROM metrics WHERE run_id = %s AND name LIKE 'judge/%%gap'",
                     loop.rows.run_id)
    assert {one["name"] for one in names} == {"judge/first-0/gap", "judge/second-1/gap"}
