"""The operation log and the driver's fence on a real Postgres."""

import json

import pytest

from hone.spec.run import RunSpec
from hone.store.database import Database
from services.learner.driver import lease as leases
from services.learner.driver.operations import DedupeConflict, append
from tests.integration.learner.rows import OWNER_A, OWNER_B, add_run


@pytest.fixture
def database(postgres_url: str) -> Database:
    return Database(postgres_url)


def test_sequence_numbers_have_no_gaps_and_a_known_key_returns_its_row(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    with database.transaction() as transaction:
        first = append(transaction, run.tenant_id, run.model_id, [("a", "save", {"number": 0})])
    with database.transaction() as transaction:
        again = append(transaction, run.tenant_id, run.model_id,
                       [("a", "save", {"number": 0}), ("b", "optim_step", {"lr": 1.0})])
    assert again[0]["id"] == first[0]["id"]
    assert [row["seq"] for row in again] == [1, 2]


def test_a_known_key_with_another_payload_is_refused_and_appends_nothing(
    database: Database, postgres_owner_url: str
) -> None:
    run = add_run(postgres_owner_url)
    with database.transaction() as transaction:
        append(transaction, run.tenant_id, run.model_id, [("a", "save", {"number": 0})])
    with pytest.raises(DedupeConflict, match="'a'"), database.transaction() as transaction:
        append(transaction, run.tenant_id, run.model_id, [("c", "save", {"number": 7}), ("a", "save", {"number": 1})])
    with database.transaction() as transaction:
        assert not transaction.all("driver.operations_by_key", tenant_id=run.tenant_id, model_id=run.model_id,
                                   dedupe_keys=["c"])


def test_a_run_has_one_holder_and_the_old_one_cannot_write(database: Database, postgres_owner_url: str) -> None:
    add_run(postgres_owner_url)
    first = leases.acquire(database, OWNER_A, lease_s=60)
    assert first is not None
    assert leases.acquire(database, OWNER_B, lease_s=60) is None
    with database.transaction() as transaction:
        transaction.run("driver.forget_predecessor", owner=OWNER_A)
    second = leases.acquire(database, OWNER_B, lease_s=60)
    assert second is not None
    assert (second.run_id, second.epoch) == (first.run_id, first.epoch + 1)
    with pytest.raises(leases.LeaseLost), leases.fenced(database, first):
        pytest.fail("the old holder got in")
    with pytest.raises(leases.LeaseLost):
        leases.renew(database, first, 60)
    with leases.fenced(database, second) as transaction:
        transaction.run("driver.set_state", run_id=second.run_id, epoch=second.epoch, state="cancelled", reason="test")


def test_an_expired_lease_is_anybodys(database: Database, postgres_owner_url: str) -> None:
    add_run(postgres_owner_url)
    first = leases.acquire(database, OWNER_A, lease_s=0.0001)
    second = leases.acquire(database, OWNER_B, lease_s=60)
    assert first is not None
    assert second is not None
    assert second.epoch == first.epoch + 1
    assert second.spec == RunSpec.model_validate(json.loads(first.spec.model_dump_json()))
