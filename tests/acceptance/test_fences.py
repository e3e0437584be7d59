"""Late writers: a process frozen until its lease is over, and a worker that sends a call again."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hone.store.sql import statement
from tests.acceptance import invariants, toy
from tests.acceptance.scene import Scene, wait_for

STEPS, PROMPTS = 40, 8


@pytest.fixture(scope="module")
def scene(twins: Scene, bases: Callable[..., Path]) -> Scene:
    twins.client.upload_model("fences-base", bases())
    return twins


def spec(name: str) -> dict[str, Any]:
    return toy.spec(name, "fences-base", STEPS, batch={"prompts": PROMPTS, "samples": 4}, eval=None)


def freeze_at(scene: Scene, point: str) -> int:
    """Have the next process that reaches `point` stop there; return its pid."""
    scene.forget_hits(point)
    armed = scene.crash_dir / f".{point}"
    armed.write_text("SIGSTOP")
    armed.rename(scene.crash_dir / point)  # the file appears with its content
    return int(wait_for(f"{point} to be reached", lambda: scene.hit(point), 60))


@contextmanager
def overtaken_at(scene: Scene, point: str) -> Iterator[int]:
    """Freeze a process at `point` until another process reaches it too, and freeze that as well.

    Yields the pid of the first, the late one. Both go on at the end of the block.
    """
    late = freeze_at(scene, point)
    try:
        second = freeze_at(scene, point)
        assert second != late
    except BaseException:
        os.kill(late, signal.SIGCONT)
        raise
    try:
        yield late
    finally:
        os.kill(second, signal.SIGCONT)
        os.kill(late, signal.SIGCONT)


def test_a_worker_that_wakes_up_late_makes_nothing_ready(scene: Scene) -> None:
    run = scene.client.create_run(spec("late"))
    wait_for("a step", lambda: scene.committed(run.id) >= 1, 60)
    with overtaken_at(scene, "part.object-row") as late:
        os.kill(late, signal.SIGCONT)
        assert freeze_at(scene, "ready.after") == late
    scene.finished(run.id)
    invariants.check(scene, run.id, STEPS, PROMPTS)


def test_a_driver_that_wakes_up_late_plans_nothing(scene: Scene) -> None:
    run = scene.client.create_run(spec("planned late"))
    wait_for("a step", lambda: scene.committed(run.id) >= 1, 60)
    with overtaken_at(scene, "step.before-row") as late:
        step, given_up = scene.committed(run.id) + 1, times_given_up(scene, run.id)
        epoch = scene.one("SELECT lease_epoch FROM runs WHERE id = %s", run.id)
        os.kill(late, signal.SIGCONT)
        wait_for("the late one to plan or to give up", lambda: (
            scene.rows("SELECT FROM steps WHERE run_id = %s AND n = %s", run.id, step)
            or times_given_up(scene, run.id) > given_up), 60)
        planned = scene.rows("SELECT n FROM steps WHERE run_id = %s AND n = %s AND epoch < %s", run.id, step, epoch)
    assert planned == [], "a driver planned a step after it had lost its lease"
    scene.finished(run.id)
    invariants.check(scene, run.id, STEPS, PROMPTS)


def times_given_up(scene: Scene, run_id: str) -> int:
    """Return how often drivers logged that they lost the run."""
    logs = (scene.stack.state / "logs").glob("driver-*.log")
    return sum(log.read_text().count(f"no longer hold {run_id}") for log in logs)


def test_calls_are_journaled_once_however_often_a_worker_repeats_itself(scene: Scene) -> None:
    run = scene.client.create_run(spec("repeated"))
    frozen = freeze_at(scene, "journal.after")
    try:
        claim = scene.rows("SELECT id, attempt FROM groups WHERE run_id = %s AND state = 'requested' AND attempt > 0 "
                           "AND id IN (SELECT group_id FROM journal) LIMIT 1", run.id)[0]
        with psycopg.connect(scene.database_url) as connection:
            for _ in range(2):
                connection.execute(statement("journal.add"), {
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
    assert "the policy's first prompt is too long: found" in (ended.reason or "")
    assert scene.rows("SELECT id FROM groups WHERE run_id = %s AND state <> 'dropped'", run.id) == []
