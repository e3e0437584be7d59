"""A process's leases: renewed while it lives, released when it ends, and dropped when another process has the row."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from hone import ids
from hone.store.database import Database
from hone.store.leases import Holder, Table


@dataclass(frozen=True)
class Lease:
    row_id: str
    epoch: int
    table: Table = "models"


@dataclass(frozen=True)
class Training:
    lease: Lease


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = Database(postgres_url)
    yield opened
    opened.close()


@pytest.fixture
def model_id(postgres_owner_url: str) -> str:
    tenant_id, model_id = ids.new("ten"), ids.new("mod")
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", (tenant_id, tenant_id))
        connection.execute("INSERT INTO models (id, tenant_id, config, lease_owner, lease_epoch, lease_expires) "
                           "VALUES (%s, %s, '{}', 'trainer-a', 3, now() + interval '1 hour')", (model_id, tenant_id))
    return model_id


def expires_in_s(owner_url: str, model_id: str) -> float:
    with psycopg.connect(owner_url) as connection:
        row = connection.execute("SELECT extract(epoch FROM lease_expires - now())::float8 FROM models WHERE id = %s",
                                 (model_id,)).fetchone()
    assert row is not None
    return float(row[0])


def test_a_lease_is_renewed_and_released(database: Database, postgres_owner_url: str, model_id: str) -> None:
    holder: Holder[Training] = Holder(database, "models", "trainer-a", lease_s=60)
    work = Training(Lease(model_id, 3))
    holder.add(work)
    holder.renew(work)
    assert 0 < expires_in_s(postgres_owner_url, model_id) <= 60
    holder.release(work)
    assert expires_in_s(postgres_owner_url, model_id) <= 0
    assert holder.work() == []


def test_work_is_dropped_when_its_lease_is_lost(database: Database, model_id: str) -> None:
    holder: Holder[Training] = Holder(database, "models", "trainer-a", lease_s=60)
    lost = Training(Lease(model_id, 2))
    holder.add(lost)
    holder.renew(lost)
    assert holder.work() == []


def test_a_process_releases_what_an_earlier_process_of_its_name_held(
    database: Database, postgres_owner_url: str, model_id: str
) -> None:
    Holder[Training](database, "models", "trainer-b", lease_s=60).release_all()
    assert expires_in_s(postgres_owner_url, model_id) > 0
    Holder[Training](database, "models", "trainer-a", lease_s=60).release_all()
    assert expires_in_s(postgres_owner_url, model_id) <= 0
