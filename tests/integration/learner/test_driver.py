"""The driver process on a real Postgres: trouble of one run never keeps it from the other runs."""

import threading
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from psycopg.rows import dict_row

from hone.spec.settings import Settings
from hone.store.database import Database
from services.learner.driver import lease as leases
from services.learner.driver import process
from services.learner.driver.run import RunDriver
from tests.integration.learner.rows import OWNER_A, OWNER_B, RunRows, add_run


def test_a_run_lost_while_it_is_failed_is_left_to_its_new_holder(
    monkeypatch: pytest.MonkeyPatch, postgres_url: str, postgres_owner_url: str, tmp_path: Path
) -> None:
    class Spoiled(RunDriver):
        def advance(self) -> bool:
            with psycopg.connect(postgres_owner_url) as connection:
                connection.execute("UPDATE runs SET lease_owner = %s, lease_epoch = lease_epoch + 1, "
                                   "lease_expires = now() + interval '1 min' WHERE id = %s",
                                   (OWNER_B, self.lease.run_id))
            raise ValueError("spoiled")

    monkeypatch.setattr(process, "RunDriver", Spoiled)
    driver = process.Driver(settings(postgres_url, tmp_path), OWNER_A)
    working = threading.Thread(target=driver.run)
    working.start()
    try:
        for _ in range(2):
            run = add_run(postgres_owner_url)
            assert held_by(postgres_owner_url, run.run_id, OWNER_B) == "running"
    finally:
        driver.stop()
        working.join()


def held_by(owner_url: str, run_id: str, owner: str) -> str | None:
    """Return a run's state once this owner holds it; None if that does not happen within 20 s."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with psycopg.connect(owner_url) as connection:
            found = connection.execute(
                "SELECT state FROM runs WHERE id = %s AND lease_owner = %s", (run_id, owner)).fetchone()
        if found:
            return str(found[0])
        time.sleep(0.05)
    return None


@dataclass(frozen=True)
class Scene:
    """A database with one run, and the leases of its drivers."""

    url: str
    owner_url: str
    run: RunRows

    def lease(self, owner: str = OWNER_A) -> leases.RunLease | None:
        database = Database(self.url)
        lease = leases.acquire(database, owner, lease_s=60)
        database.close()
        return lease

    def do(self, name: str, **params: Any) -> None:
        database = Database(self.url)
        database.run(name, **params)
        database.close()

    def die(self, lease: leases.RunLease, begun: bool = True) -> None:
        """Do what rows see of a driver that is killed during the first turn of the run, and started again."""
        if begun:
            self.do("runs.begin_turn", run_id=lease.run_id, epoch=lease.epoch)
        self.do("runs.release_leases", owner=OWNER_A)

    def row(self, query: str = "SELECT * FROM runs WHERE id = %s") -> dict[str, Any]:
        with psycopg.connect(self.owner_url, row_factory=dict_row) as connection:
            found = connection.execute(cast(Any, query), (self.run.run_id,)).fetchone()
        assert found is not None
        return found


@pytest.fixture
def scene(postgres_url: str, postgres_owner_url: str) -> Iterator[Scene]:
    made = Scene(postgres_url, postgres_owner_url, add_run(postgres_owner_url))
    yield made
    made.row("UPDATE runs SET state = 'cancelled' WHERE id = %s RETURNING id")


def test_a_run_that_takes_two_drivers_down_is_failed_with_that_reason(scene: Scene) -> None:
    for count in range(2):
        lease = scene.lease()
        assert lease is not None
        assert lease.takedowns == count
        scene.do("runs.set_waiting_for", run_id=lease.run_id, epoch=lease.epoch, waiting_for="dataset 'big'")
        scene.die(lease)
    assert scene.lease() is None
    assert (scene.row()["state"], scene.row()["reason"]) == ("failed", (
        "it took down 2 drivers in a row: each one ended while it did its first turn of this run; it waited for "
        "dataset 'big'"))


@pytest.mark.parametrize("innocent", ["released", "finished", "not begun", "database restarted"])
def test_a_driver_that_ends_otherwise_is_not_counted(scene: Scene, innocent: str) -> None:
    for _ in range(3):
        lease = scene.lease()
        assert lease is not None
        key = {"run_id": lease.run_id, "epoch": lease.epoch}
        if innocent != "not begun":
            scene.do("runs.begin_turn", **key)
        if innocent == "finished":
            scene.do("runs.end_turn", **key, finished=True)
        if innocent == "released":
            scene.do("runs.release_lease", id=lease.run_id, epoch=lease.epoch)
        if innocent == "database restarted":
            scene.row("UPDATE runs SET turn_begun = pg_postmaster_start_time() - interval '1 s' WHERE id = %s "
                      "RETURNING id")
        scene.die(lease, begun=False)
    assert scene.row()["takedowns"] == 0


def test_a_run_without_a_driver_says_so(scene: Scene) -> None:
    waits = "SELECT waits_for(runs) AS waits FROM runs WHERE id = %s"
    assert scene.row(waits)["waits"] == "a driver to take it"
    scene.row("UPDATE runs SET created_at = now() - interval '1 min' WHERE id = %s RETURNING id")
    assert scene.row(waits)["waits"] == "a driver to take it: none is at work"
    other = add_run(scene.owner_url)
    with psycopg.connect(scene.owner_url) as connection:
        connection.execute("UPDATE runs SET state = 'running', lease_owner = 'd', "
                           "lease_expires = now() + interval '1 min' WHERE id = %s", (other.run_id,))
        connection.execute("UPDATE runs SET state = 'queued' WHERE id = %s", (scene.run.run_id,))
    assert scene.row(waits)["waits"] == (
        "a driver to take it: 1 at work, with 1 runs, and no room for more (HONE_DRIVER_RUNS)")
    with psycopg.connect(scene.owner_url) as connection:
        connection.execute("UPDATE runs SET state = 'cancelled' WHERE id = %s", (other.run_id,))
    lease = scene.lease()
    assert lease is not None
    scene.do("runs.set_waiting_for", run_id=lease.run_id, epoch=lease.epoch, waiting_for="the trainer")
    assert scene.row(waits)["waits"] == "the trainer"


def test_a_slow_run_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, postgres_url: str, postgres_owner_url: str, tmp_path: Path
) -> None:
    slow, fast = add_run(postgres_owner_url).run_id, add_run(postgres_owner_url).run_id
    moved, go_on = dict[str, threading.Event](), threading.Event()
    for run_id in (slow, fast):
        moved[run_id] = threading.Event()

    class Uneven(RunDriver):
        def advance(self) -> bool:
            if self.lease.run_id == slow:
                go_on.wait(60)
            moved[self.lease.run_id].set()
            return False

    monkeypatch.setattr(process, "RunDriver", Uneven)
    driver = process.Driver(settings(postgres_url, tmp_path), OWNER_A)
    working = threading.Thread(target=driver.run)
    working.start()
    try:
        assert moved[fast].wait(120)
        assert not moved[slow].is_set()
    finally:
        go_on.set()
        driver.stop()
        working.join()
        with psycopg.connect(postgres_owner_url) as connection:
            connection.execute("UPDATE runs SET state = 'cancelled' WHERE id = ANY (%s)", ([slow, fast],))


def test_a_run_of_a_billion_steps_is_cancelled_before_anything_of_it_is_built(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path
) -> None:
    giant = add_run(postgres_owner_url, steps=10**9)
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE runs SET desired = 'cancel' WHERE id = %s", (giant.run_id,))
    driver = process.Driver(settings(postgres_url, tmp_path), OWNER_A)
    tracemalloc.start()
    working = threading.Thread(target=driver.run)
    working.start()
    try:
        assert reached(postgres_owner_url, giant.run_id, "cancelled")
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
        driver.stop()
        working.join()


def test_a_driver_deletes_a_run_once_it_has_ended(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> None:
    run = add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE runs SET desired = 'cancel', deleted_at = now() WHERE id = %s", (run.run_id,))
        connection.execute("INSERT INTO deletions (subject_id, tenant_id, kind, name) VALUES (%s, %s, 'run', 'n')",
                           (run.run_id, run.tenant_id))
    driver = process.Driver(settings(postgres_url, tmp_path), OWNER_A)
    working = threading.Thread(target=driver.run)
    working.start()
    try:
        with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
            until = time.monotonic() + 60
            while connection.execute("SELECT 1 FROM jobs WHERE subject = %s", (run.run_id,)).fetchone():
                assert time.monotonic() < until, "it is not deleted"
                time.sleep(0.05)
            assert connection.execute("SELECT finished_at IS NOT NULL FROM deletions WHERE subject_id = %s",
                                      (run.run_id,)).fetchone() == (True,)
            assert connection.execute("SELECT 1 FROM runs WHERE id = %s", (run.run_id,)).fetchone() is None
    finally:
        driver.stop()
        working.join()


def reached(owner_url: str, run_id: str, state: str) -> bool:
    """Return whether a run reaches this state within 20 s."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with psycopg.connect(owner_url) as connection:
            if connection.execute("SELECT id FROM runs WHERE id = %s AND state = %s", (run_id, state)).fetchone():
                return True
        time.sleep(0.05)
    return False


def settings(url: str, folder: Path) -> Settings:
    return Settings(database_url=url, objects_url=f"file://{folder}/objects", broker_url=f"filesystem://{folder}/broker",
                    sweep_s=0.1)
