"""Late writers: a worker frozen past its claim, and one that repeats itself because an answer was lost."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hone.store.sql import statement
from tests.acceptance import invariants, toy
from tests.acceptance.scene import Scene, open_scene, wait_for

STEPS, PROMPTS = 12, 8
LATE_COMMIT_S = 1.0  # far more than the late worker needs to try what it was about to do


@pytest.fixture(scope="module")
def scene(shared_directory: Path) -> Iterator[Scene]:
    state = shared_directory / "fences"
    opened = open_scene(state, {"lease_s": 2.0, "sweep_s": 0.5}, {"rollout": 2, "driver": 2})
    opened.client.upload_model("base", toy.write_base(state / "base", steps=20))
    yield opened
    opened.stack.stop()


def spec(name: str) -> dict[str, Any]:
    return toy.spec(name, "base", STEPS, batch={"prompts": PROMPTS, "samples": 4}, eval=None)


def freeze_at(scene: Scene, point: str) -> int:
    """Have the next process that reaches `point` stop there; return its pid."""
    before = set((scene.crash_dir / "hit").glob(f"{point}.*"))
    (scene.crash_dir / point).write_text("SIGSTOP")
    hits = wait_for(f"{point} to be reached", lambda: set((scene.crash_dir / "hit").glob(f"{point}.*")) - before, 60)
    return int(next(iter(hits)).name.rpartition(".")[2])


def test_a_worker_that_wakes_up_late_makes_nothing_ready(scene: Scene) -> None:
    run = scene.client.create_run(spec("late"))
    wait_for("a step", lambda: scene.committed(run.id) >= 1, 60)
    late = freeze_at(scene, "part.object-row")
    try:
        second = freeze_at(scene, "part.object-row")
        assert second != late
    finally:
        os.kill(late, signal.SIGCONT)
    wait_for("the late one to go on", lambda: running(late), 30)
    time.sleep(LATE_COMMIT_S)
    os.kill(second, signal.SIGCONT)
    scene.finished(run.id)
    invariants.check(scene, run.id, STEPS, PROMPTS)


def test_a_driver_that_wakes_up_late_plans_nothing(scene: Scene) -> None:
    run = scene.client.create_run(spec("planned late"))
    wait_for("a step", lambda: scene.committed(run.id) >= 1, 60)
    late = freeze_at(scene, "step.before-row")
    try:
        second = freeze_at(scene, "step.before-row")
        assert second != late
        step = scene.committed(run.id) + 1
        epoch = scene.one("SELECT lease_epoch FROM runs WHERE id = %s", run.id)
    finally:
        os.kill(late, signal.SIGCONT)
    wait_for("the late one to go on", lambda: running(late), 30)
    time.sleep(LATE_COMMIT_S)
    os.kill(second, signal.SIGCONT)
    scene.finished(run.id)
    planned = scene.one("SELECT epoch FROM steps WHERE run_id = %s AND n = %s", run.id, step)
    assert planned >= epoch, "a driver planned a step after it had lost its lease"
    invariants.check(scene, run.id, STEPS, PROMPTS)


def running(pid: int) -> bool:
    """Tell whether a process is not stopped."""
    return "T (stopped)" not in Path(f"/proc/{pid}/status").read_text()


def test_calls_are_journaled_once_however_often_a_worker_repeats_itself(scene: Scene) -> None:
    run = scene.client.create_run(spec("repeated"))
    frozen = freeze_at(scene, "journal.after")
    try:
        claim = scene.rows("SELECT id, attempt FROM groups WHERE run_id = %s AND state = 'requested' AND attempt > 0 "
                           "AND id IN (SELECT group_id FROM journal) LIMIT 1", run.id)[0]
        with psycopg.connect(scene.database_url) as connection:
            for _ in range(2):
                connection.execute(statement("rollout.journal_calls"), {
                    "group_ids": [claim["id"]], "attempts": [claim["attempt"]], "indices": [0], "calls": [0],
                    "bodies": [json.dumps({"another": "answer"}).encode()]})
        assert scene.one("SELECT count(*) FROM journal WHERE group_id = %s AND index = 0", claim["id"]) == 1
    finally:
        os.kill(frozen, signal.SIGCONT)
    scene.finished(run.id)
    invariants.check(scene, run.id, STEPS, PROMPTS)


def test_a_request_that_no_engine_can_serve_fails_the_run_with_the_reason(scene: Scene) -> None:
    run = scene.client.create_run({**spec("endless"), "sampling": {"max_tokens": 510}})  # 512 with a prompt do not fit
    ended = wait_for("the end of the run", lambda: scene.ended(run.id), 60)
    assert ended.state == "failed"
    assert "inference refuses" in (ended.reason or "")
    assert scene.rows("SELECT id FROM groups WHERE run_id = %s AND state <> 'dropped'", run.id) == []
