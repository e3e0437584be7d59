"""The operation log and the driver's fence on a real Postgres."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from hone.spec.operations import Export, OptimStep, Save
from hone.spec.run import RunSpec
from hone.store.database import Database
from hone.store.leases import LeaseLost, fenced, renew
from services.learner.driver import lease as leases
from services.learner.driver.operations import DedupeConflict, append
from tests.integration.learner.rows import OWNER_A, OWNER_B, RunRows, add_run

UPDATE = OptimStep(lr=1.0, clip_norm=1.0)


def save(run: RunRows, number: int) -> Save:
    return Save(run_id=run.run_id, number=number)


@pytest.fixture
def database(postgres_url: str) -> Database:
    return Database(postgres_url)


def test_sequence_numbers_have_no_gaps_and_a_known_key_returns_its_row(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    with database.transaction() as transaction:
        first = append(transaction, run.tenant_id, run.model_id, [("a", save(run, 0))])
    with database.transaction() as transaction:
        again = append(transaction, run.tenant_id, run.model_id,
                       [("a", save(run, 0)), ("b", UPDATE)])
    assert again[0]["id"] == first[0]["id"]
    assert [row["seq"] for row in again] == [1, 2]


def test_a_trainer_is_given_all_up_to_the_first_save_and_nothing_without_one(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    many = [(f"step {number}", UPDATE) for number in range(40)]
    with database.transaction() as transaction:
        append(transaction, run.tenant_id, run.model_id, many)
        assert transaction.all("operations.queued", model_id=run.model_id) == []
        append(transaction, run.tenant_id, run.model_id, [
            ("save", save(run, 1)), ("later", UPDATE)])
        given = transaction.all("operations.queued", model_id=run.model_id)
    assert [row["seq"] for row in given] == list(range(1, 42))
    assert given[-1]["kind"] == "save"


def test_a_known_key_with_another_payload_is_refused_and_appends_nothing(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    with database.transaction() as transaction:
        append(transaction, run.tenant_id, run.model_id, [("a", save(run, 0))])
    with pytest.raises(DedupeConflict, match="'a'"), database.transaction() as transaction:
        append(transaction, run.tenant_id, run.model_id, [("c", save(run, 7)), ("a", save(run, 1))])
    assert not database.all("operations.by_dedupe_key", tenant_id=run.tenant_id, model_id=run.model_id,
                            dedupe_keys=["c"])


def test_a_run_has_one_holder_and_the_old_one_cannot_write(database: Database, postgres_owner_url: str) -> None:
    add_run(postgres_owner_url)
    first = leases.acquire(database, OWNER_A, lease_s=60)
    assert first is not None
    assert leases.acquire(database, OWNER_B, lease_s=60) is None
    database.run("runs.release_leases", owner=OWNER_A)
    second = leases.acquire(database, OWNER_B, lease_s=60)
    assert second is not None
    assert (second.run_id, second.epoch) == (first.run_id, first.epoch + 1)
    with pytest.raises(LeaseLost), fenced(database, first):
        pytest.fail("the old holder got in")
    with pytest.raises(LeaseLost):
        renew(database, first, 60)
    with fenced(database, second) as transaction:
        transaction.run("runs.set_state", run_id=second.run_id, epoch=second.epoch, state="cancelled", reason="test")


def test_an_expired_lease_is_anybodys(database: Database, postgres_owner_url: str) -> None:
    add_run(postgres_owner_url)
    first = leases.acquire(database, OWNER_A, lease_s=0.0001)
    second = leases.acquire(database, OWNER_B, lease_s=60)
    assert first is not None
    assert second is not None
    assert second.epoch == first.epoch + 1
    assert second.spec == RunSpec.model_validate(json.loads(first.spec.model_dump_json()))


def test_a_driver_that_plans_and_a_trainer_that_commits_never_wait_for_each_other(
    database: Database, postgres_url: str, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    lease = leases.acquire(database, OWNER_A, lease_s=60)
    assert lease is not None
    with ThreadPoolExecutor() as pool, database.transaction() as trainer:
        assert trainer.one("models.fence", id=run.model_id, epoch=0)
        planned = pool.submit(plan, Database(postgres_url), lease, run)
        while not waits(postgres_owner_url):
            time.sleep(0.01)
        trainer.run("metrics.record", run_id=run.run_id, tenant_id=run.tenant_id, step=1, names=["x"],
                    values=[1.0])
    assert planned.result(60) == 1


def waits(owner_url: str) -> bool:
    """Return whether any session of this database waits for a lock."""
    with psycopg.connect(owner_url) as connection:
        found = connection.execute("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
                                   "AND wait_event_type = 'Lock'").fetchone()
    return found is not None


def plan(database: Database, lease: leases.RunLease, run: RunRows) -> int:
    """Append an operation under the driver's fence, as a plan does; return its place."""
    with fenced(database, lease) as transaction:
        return int(append(transaction, run.tenant_id, run.model_id, [("d", save(run, 0))])[0]["seq"])


def test_an_export_that_nobody_finished_in_time_keeps_nothing_waiting(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    with database.transaction() as transaction:
        append(transaction, run.tenant_id, run.model_id, [("e", Export(version_id="ver")), ("s", save(run, 0))])
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE operations SET deadline = now() WHERE model_id = %s AND kind = 'export'",
                           [run.model_id])
    with database.transaction() as transaction:
        assert [row["kind"] for row in transaction.all("operations.queued", model_id=run.model_id)] == ["export"]
        transaction.run("operations.expire_exports", model_id=run.model_id)
        assert [row["kind"] for row in transaction.all("operations.queued", model_id=run.model_id)] == ["save"]


def test_a_run_whose_spec_is_not_understood_fails_and_holds_nobody_up(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE runs SET spec = spec || '{\"steps\": 3000000000}' WHERE id = %s", [run.run_id])
    assert leases.acquire(database, OWNER_A, lease_s=60) is None
    with psycopg.connect(postgres_owner_url) as connection:
        row = connection.execute("SELECT state, reason FROM runs WHERE id = %s", [run.run_id]).fetchone()
        events = connection.execute("SELECT kind FROM events WHERE run_id = %s", [run.run_id]).fetchall()
    assert row is not None
    assert row[0] == "failed"
    assert "steps" in row[1]
    assert events == [("failed",)]
