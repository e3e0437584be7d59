"""A tenant with many runs keeps no other tenant from a place in a driver or a trainer, on a real Postgres."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from hone import ids
from hone.spec.operations import Save
from hone.spec.settings import Settings
from hone.store.database import Database
from services.learner.driver import lease as leases
from services.learner.driver import process as drivers
from services.learner.driver.operations import append
from services.learner.driver.run import RunDriver
from services.learner.trainer import process as trainers
from services.learner.trainer.lease import ModelLease
from tests.integration.learner.rows import OWNER_A, OWNER_B, RunRows, add_run

ENDED = "UPDATE runs SET state = 'cancelled' WHERE state IN ('queued', 'running', 'paused')"
DONE = "UPDATE operations SET state = 'failed' WHERE state = 'queued'"


class Rows:
    """Runs of two tenants: one with many, one with few."""

    def __init__(self, url: str, owner_url: str, folder: Path) -> None:
        self.url, self.owner_url, self.folder = url, owner_url, folder
        few, many = add_run(owner_url), add_run(owner_url)
        self.few, self.many = few, [many, *(self._another(many) for _ in range(3))]
        self.do("UPDATE runs SET state = 'queued' WHERE id = %s", self.few.run_id)

    def _another(self, run: RunRows) -> RunRows:
        """Add another run and model like those of a run, of the same tenant."""
        other = RunRows(run.tenant_id, ids.new("run"), ids.new("mod"))
        self.do("INSERT INTO models (id, tenant_id, base_artifact_id, config) "
                "SELECT %s, tenant_id, base_artifact_id, config FROM models WHERE id = %s",
                other.model_id, run.model_id)
        self.do("INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline) SELECT "
                "%s, tenant_id, name, spec, spec_sha, %s, deadline FROM runs WHERE id = %s",
                other.run_id, other.model_id, run.run_id)
        return other

    def do(self, statement: str, *parameters: object) -> None:
        with psycopg.connect(self.owner_url) as connection:
            connection.execute(cast(Any, statement), parameters)

    def holders(self) -> dict[str, str]:
        """Return who holds a run now, by the run's id."""
        with psycopg.connect(self.owner_url) as connection:
            return dict(connection.execute("SELECT id, lease_owner FROM runs WHERE lease_expires > now() "
                                           "AND state IN ('running', 'paused')").fetchall())

    @property
    def settings(self) -> Settings:
        return Settings(database_url=self.url, objects_url=f"file://{self.folder}/objects",
                        broker_url=f"filesystem://{self.folder}/broker", sweep_s=0.1, driver_runs=3)


@pytest.fixture
def rows(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Iterator[Rows]:
    made = Rows(postgres_url, postgres_owner_url, tmp_path)
    yield made
    made.do(ENDED)
    made.do(DONE)


def test_a_full_driver_gives_way_to_the_run_of_another_tenant(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunDriver, "advance", lambda _: False)
    rows.do("UPDATE runs SET state = 'cancelled' WHERE id = %s", rows.few.run_id)
    driver = drivers.Driver(rows.settings, OWNER_A)
    working = threading.Thread(target=driver.run)
    working.start()
    try:
        first = [run.run_id for run in rows.many[:3]]
        assert soon(lambda: {*rows.holders()} == {*first})
        rows.do("UPDATE runs SET state = 'queued', created_at = now() WHERE id = %s", rows.few.run_id)
        assert soon(lambda: {*rows.holders()} == {*first[:2], rows.few.run_id})
        time.sleep(0.5)
        assert {*rows.holders()} == {*first[:2], rows.few.run_id}, "two runs and one: nobody gives way any more"
    finally:
        driver.stop()
        working.join()


def test_a_cancelled_run_needs_no_place(rows: Rows) -> None:
    database = Database(rows.url)
    assert leases.acquire(database, OWNER_A, lease_s=60, room=False) is None
    rows.do("UPDATE runs SET desired = 'cancel' WHERE id = %s", rows.many[3].run_id)
    rows.do("UPDATE runs SET deadline = now() WHERE id = %s", rows.many[2].run_id)
    leased = [leases.acquire(database, OWNER_A, lease_s=60, room=False) for _ in range(3)]
    assert [one and one.run_id for one in leased] == [rows.many[3].run_id, rows.many[2].run_id, None]
    database.close()


def test_a_run_that_gave_way_is_written_by_its_next_driver_alone(rows: Rows) -> None:
    database = Database(rows.url)
    rows.do("UPDATE runs SET state = 'cancelled' WHERE id = %s", rows.few.run_id)
    held = [leases.acquire(database, OWNER_A, lease_s=60) for _ in range(2)]
    assert leases.give_way(database, OWNER_A) is None, "the tenant waits for itself"
    rows.do("UPDATE runs SET state = 'queued' WHERE id = %s", rows.few.run_id)
    assert leases.give_way(database, OWNER_B) is None, "it is another driver's"
    assert held[1] is not None
    assert leases.give_way(database, OWNER_A) == held[1].run_id
    assert not database.run("runs.renew_lease", id=held[1].run_id, epoch=held[1].epoch, lease_s=60)
    database.close()


class Busy:
    """An executor whose model always has another unit to execute."""

    turns: list[str]

    def __init__(self, _: Any, __: Any, lease: ModelLease, *___: Any) -> None:
        self.lease, self.idle_since = lease, time.monotonic()

    def advance(self) -> bool:
        time.sleep(0.002)
        self.turns.append(self.lease.tenant_id)
        self.idle_since = time.monotonic()
        return True


class Alone:
    """The only rank of a trainer."""

    def beat(self) -> None: ...

    def end(self) -> None: ...


def test_a_trainer_that_never_rests_serves_each_tenant_in_turn(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Busy, "turns", [], raising=False)
    monkeypatch.setattr(trainers, "ModelExecutor", Busy)
    queue(rows, *rows.many)
    trainer = trainers.Trainer(rows.settings, "trainer", cast(Any, Alone()))
    working = threading.Thread(target=trainer.run)
    working.start()
    try:
        assert soon(lambda: len(Busy.turns) > 100)
        queue(rows, rows.few)
        assert soon(lambda: Busy.turns.count(rows.few.tenant_id) > 50)
    finally:
        trainer.stop()
        working.join()
    since = Busy.turns[Busy.turns.index(rows.few.tenant_id):]
    assert since[:100:2] == [rows.few.tenant_id] * 50 or since[1:101:2] == [rows.few.tenant_id] * 50


def queue(rows: Rows, *runs: RunRows) -> None:
    """Give the model of each run something to do."""
    database = Database(rows.url)
    for run in runs:
        with database.transaction() as transaction:
            append(transaction, run.tenant_id, run.model_id, [("a", Save(run_id=run.run_id, number=0))])
    database.close()


def soon(true: Any) -> bool:
    until = time.monotonic() + 120
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
