"""Samplers on a real Postgres: a run's own manifests choose its tasks, whichever driver takes which action."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.learner.loop import Answer, Loop, Row, chance

EVERY, PROMPTS, STEPS = 2, 4, 8
SPEC: dict[str, Any] = {
    "task": {"environment": "sort_digits", "params": {"digits": 2}}, "batch": {"prompts": PROMPTS, "samples": 4},
    "steps": STEPS, "seed": 5, "algorithm": {"preset": "topocurate", "sampler": {"name": "topocurate", "params": {
        "every": EVERY, "explore": 0.25}}}}


def answered(group: Row, index: int) -> tuple[str, float, str]:
    """Half of all tasks are always solved; the others are solved by some samples, in some of four ways."""
    if int(group["task_hash"][-1], 16) % 2:
        return "same", 1.0, "ok"
    way = int(4 * chance(group, index))
    return f"way {way}" * 9, float(way > 1), "ok"


@pytest.fixture
def loop(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Any:
    def made(answer: Answer = answered, **changes: Any) -> Loop:
        return Loop(postgres_url, postgres_owner_url, tmp_path, answer, **{**SPEC, **changes})
    return made


def drawn(run: Loop) -> list[tuple[int, str, Any]]:
    return [(row["step"], row["task_hash"], row["sampled"]) for row in run.all(
        "SELECT step, task_hash, (\"order\" -> 'sampled')::jsonb AS sampled FROM groups WHERE run_id = %s "
        "ORDER BY request_no", run.rows.run_id)]


def manifests(run: Loop) -> dict[int, dict[str, Row]]:
    found: dict[int, dict[str, Row]] = {}
    for row in run.all("SELECT version, body FROM collection_items WHERE run_id = %s AND name = 'manifest' "
                       "ORDER BY version, place", run.rows.run_id):
        found.setdefault(row["version"], {})[row["body"]["task_hash"]] = row["body"]
    return found


def test_a_runs_own_rollouts_choose_its_tasks_and_a_replayed_step_has_the_same(loop: Any) -> None:
    run = loop()
    assert run.go() == "succeeded"
    replayed = loop()
    assert replayed.go(restarts=True) == "succeeded"
    assert drawn(run) == drawn(replayed)
    assert manifests(run) == manifests(replayed)
    made = manifests(run)
    assert list(made) == [2, 4, 6, 8]
    assert all(sampled is None for step, _, sampled in drawn(run) if step < 2 + EVERY)
    chosen = [one for one in drawn(run) if one[2] is not None]
    assert {(step, int(sampled["version"])) for step, _, sampled in chosen} == {(4, 2), (5, 2), (6, 4), (7, 4), (8, 6)}
    for _, task_hash, sampled in chosen:
        of = made[int(sampled["version"])][task_hash]
        assert 0 < of["pass_rate"] < 1
        assert {name: of[name] for name in ("score", "pass_rate", "error_branches", "heterogeneity")}.items() <= (
            sampled.items())
    named = {row["name"] for row in run.all(
        "SELECT name FROM metrics WHERE run_id = %s AND step = %s", run.rows.run_id, STEPS)}
    assert {"sampler/chosen_share", "sampler/score", "sampler/error_branches", "sampler/heterogeneity",
            "sampler/version", "sampler/tasks", "sampler/usable"} <= named


def test_a_manifest_without_a_usable_task_leaves_the_order_and_says_so(loop: Any) -> None:
    def solved(*_: Any) -> tuple[str, float, str]:
        return "same", 1.0, "ok"

    run = loop(solved, steps=4, algorithm={"preset": "grpo", "sampler": {"name": "pass_rate", "params": {"every": 1}}})
    assert run.go() == "succeeded"
    plain = loop(solved, steps=4, algorithm={"preset": "grpo"})
    assert plain.go() == "succeeded"
    assert drawn(run) == drawn(plain)
    events = run.all("SELECT message FROM events WHERE run_id = %s AND kind = 'curation'", run.rows.run_id)
    assert len(events) == 4
    assert events[0]["message"].startswith("none of the 4 tasks of the last steps had both a success and a failure")
