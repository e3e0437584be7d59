"""The sinks process on a real PostgreSQL: every point arrives once, even if a process dies in between."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hone.store.database import Database
from services.sinks.contract import Point, Sink, SinkAway
from services.sinks.follower import Follower, register
from tests.integration.learner.rows import RunRows, add_run

Record = Callable[[RunRows, int], None]
Follow = Callable[[Sink], Follower]


class Memory:
    """A sink in memory, which can be away for a number of calls, or for one run."""

    def __init__(self, failures: int = 0, never: str = "") -> None:
        self.points: list[Point] = []
        self.ended: list[tuple[str, str]] = []
        self.failures, self.never = failures, never

    def write(self, points: Sequence[Point]) -> None:
        if self.failures:
            self.failures -= 1
            raise SinkAway("not now")
        if any(point.run_id == self.never for point in points):
            raise SinkAway("not this run")
        self.points.extend(points)

    def end(self, run_id: str, run_name: str, state: str) -> None:
        assert run_name == "test"
        if run_id == self.never:
            raise SinkAway("not its end")
        self.ended.append((run_id, state))

    def close(self) -> None:
        """Nothing is open."""


Opened = tuple[Memory, Follower]


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = Database(postgres_url, size=2)
    yield opened
    opened.close()


@pytest.fixture
def run(postgres_owner_url: str, database: Database) -> RunRows:
    database.run("sinks.forget_others", names=[])
    return add_run(postgres_owner_url)


@pytest.fixture
def record(database: Database) -> Record:
    def make(run: RunRows, step: int) -> None:
        database.run("metrics.record", run_id=run.run_id, tenant_id=run.tenant_id, step=step,
                     names=["loss", "reward"], values=[step / 2, step / 4])

    return make


@pytest.fixture
def follow(postgres_url: str) -> Iterator[Follow]:
    """Followers of the sink `memory:a`. They release it after the test, so that the next test's can send."""
    with ExitStack() as opened:
        def make(sink: Sink) -> Follower:
            follower = Follower(postgres_url, "memory:a", sink, sweep_s=0.1)
            opened.callback(let_go, follower)
            return follower

        yield make
    eventually(lambda: not held(postgres_url))


@pytest.fixture
def opened(database: Database, run: RunRows, record: Record, follow: Follow) -> Opened:
    """A sink that has the run's first point, and its follower."""
    register(database, ["memory:a"])
    record(run, 1)
    sink = Memory()
    follower = follow(sink)
    drained(follower)
    return sink, follower


def let_go(follower: Follower) -> None:
    stop = threading.Event()
    stop.set()
    follower.run(stop)


HELD = """
SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE d.datname = current_database() AND locktype = 'advisory' AND classid = hashtext('hone.sinks')::oid
"""


def held(postgres_url: str) -> bool:
    """Return whether a session holds a sink. The server notices a closed connection a moment later."""
    with psycopg.connect(postgres_url) as connection:
        return bool(connection.execute(HELD).fetchall())


def unsent(database: Database, sink: str) -> list[Any]:
    return database.all("sinks.unsent", sink=sink, without=[], limit=100)


def drained(follower: Follower) -> None:
    while follower.advance():
        pass


def test_without_a_sink_nothing_is_owed(database: Database, run: RunRows, record: Record) -> None:
    record(run, 1)
    assert unsent(database, "memory:a") == []


def test_a_new_sink_gets_all_earlier_and_all_later_points(
    follow: Follow, database: Database, run: RunRows, record: Record
) -> None:
    record(run, 1)
    register(database, ["memory:a"])
    record(run, 2)
    register(database, ["memory:a"])
    sink = Memory()
    drained(follow(sink))
    own = [point for point in sink.points if point.run_id == run.run_id]
    assert [(point.step, point.name, point.value) for point in own] == [
        (1, "loss", 0.5), (1, "reward", 0.25), (2, "loss", 1.0), (2, "reward", 0.5)]
    assert {point.run_name for point in own} == {"test"}
    assert abs(own[0].at - time.time()) < 60
    assert unsent(database, "memory:a") == []


def test_a_point_that_was_not_taken_is_offered_again_and_each_sink_has_its_own(
    follow: Follow, database: Database, run: RunRows, record: Record
) -> None:
    register(database, ["memory:a", "memory:b"])
    record(run, 1)
    sink = Memory(failures=1)
    follower = follow(sink)
    with pytest.raises(SinkAway):
        drained(follower)
    drained(follower)
    assert len([point for point in sink.points if point.run_id == run.run_id]) == 2
    assert len([row for row in unsent(database, "memory:b") if row["run_id"] == run.run_id]) == 2


def test_a_run_that_a_sink_does_not_take_keeps_no_other_from_it(
    follow: Follow, postgres_owner_url: str, database: Database, run: RunRows, record: Record
) -> None:
    other = add_run(postgres_owner_url)
    register(database, ["memory:a"])
    sink = Memory(never=run.run_id)
    follower = follow(sink)
    for step in (1, 2):
        record(run, step)
        record(other, step)
        with pytest.raises(SinkAway, match="not this run"):
            drained(follower)
    assert sorted(point.step for point in sink.points if point.run_id == other.run_id) == [1, 1, 2, 2]
    assert {row["run_id"] for row in unsent(database, "memory:a")} >= {run.run_id}


def test_of_two_followers_of_a_sink_one_sends(
    follow: Follow, database: Database, run: RunRows, record: Record
) -> None:
    register(database, ["memory:a"])
    first, second = Memory(), Memory()
    sending = follow(first)
    drained(sending)
    record(run, 1)
    drained(follow(second))
    assert second.points == []
    drained(sending)
    assert {point.step for point in first.points if point.run_id == run.run_id} == {1}


def test_a_sink_hears_that_a_run_has_ended(database: Database, run: RunRows, opened: Opened) -> None:
    sink, follower = opened
    assert (run.run_id, "succeeded") not in sink.ended
    end(database, run, "succeeded")
    drained(follower)
    assert (run.run_id, "succeeded") in sink.ended


def end(database: Database, run: RunRows, state: str) -> None:
    database.run("runs.set_state", run_id=run.run_id, epoch=0, state=state, reason=None)


def test_the_end_of_a_run_that_another_process_opened_is_reported_once(
    follow: Follow, postgres_url: str, database: Database, run: RunRows, opened: Opened
) -> None:
    let_go(opened[1])
    eventually(lambda: not held(postgres_url))
    end(database, run, "cancelled")
    sink = Memory()
    second = follow(sink)
    drained(second)
    drained(second)
    assert [state for run_id, state in sink.ended if run_id == run.run_id] == ["cancelled"]


@pytest.mark.usefixtures("opened")
def test_a_follower_that_does_not_send_reports_no_end(follow: Follow, database: Database, run: RunRows) -> None:
    end(database, run, "succeeded")
    waiting = Memory()
    drained(follow(waiting))
    assert waiting.ended == []


def test_a_run_ends_after_its_last_point_and_an_end_that_is_not_taken_keeps_no_other_from_the_sink(
    follow: Follow, postgres_owner_url: str, database: Database, run: RunRows, record: Record
) -> None:
    other = add_run(postgres_owner_url)
    register(database, ["memory:a"])
    for one in (run, other):
        record(one, 1)
    sink = Memory()
    follower = follow(sink)
    drained(follower)
    sink.never = run.run_id
    record(run, 2)
    for one in (run, other):
        end(database, one, "succeeded")
    for reason in ("not this run", "not this run"):
        with pytest.raises(SinkAway, match=reason):
            drained(follower)
    assert [run_id for run_id, _ in sink.ended if run_id in (run.run_id, other.run_id)] == [other.run_id]
    sink.never = ""
    drained(follower)
    assert (run.run_id, "succeeded") in sink.ended


def test_a_refused_end_is_reported_again(database: Database, run: RunRows, opened: Opened) -> None:
    sink, follower = opened
    end(database, run, "failed")
    sink.never = run.run_id
    with pytest.raises(SinkAway, match="not its end"):
        drained(follower)
    sink.never = ""
    drained(follower)
    assert (run.run_id, "failed") in sink.ended


def start(postgres_url: str, folder: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "HONE_DATABASE_URL": postgres_url, "HONE_SINKS": f"tensorboard://{folder}/tb",
                   "HONE_CRASH_DIR": str(folder / "crash"), "HONE_SWEEP_S": "0.2", "HONE_PROCESS_NAME": "sinks-0"}
    with (folder / "sinks.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "services.sinks"], env=environment, stderr=log)


def eventually(happened: Callable[[], bool], timeout_s: float = 30.0) -> None:
    until = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_process_killed_between_writing_and_forgetting_doubles_nothing(
    postgres_url: str, database: Database, run: RunRows, record: Record, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (pip install -e .[tensorboard])")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (tmp_path / "crash").mkdir()
    (tmp_path / "crash" / "sink.written").touch()
    record(run, 1)
    killed = start(postgres_url, tmp_path)
    assert killed.wait(120) == -signal.SIGKILL
    name = f"tensorboard:{tmp_path}/tb"
    assert unsent(database, name), "it died before it forgot them"
    record(run, 2)
    again = start(postgres_url, tmp_path)
    try:
        eventually(lambda: not unsent(database, name))
        record(run, 3)  # a hint wakes it
        eventually(lambda: not unsent(database, name))
        assert "sinks-0" in {row["id"] for row in database.all("workers.all") if row["kind"] == "sinks"}
        again.terminate()
        assert again.wait(60) == 0
    finally:
        again.kill()
        again.wait()
    found = EventAccumulator(str(tmp_path / "tb" / f"test-{run.run_id}"), size_guidance={"scalars": 0})
    found.Reload()
    assert [(one.step, one.value) for one in found.Scalars("loss")] == [(1, 0.5), (2, 1.0), (3, 1.5)]
