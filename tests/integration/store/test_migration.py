"""Migrations: once, in order, by one process at a time; roles see what they may."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from hone.stack.postgres import SUPERUSER
from hone.store import migration
from tests.servers.postgres import PASSWORD, Server


@pytest.fixture
def empty_url(postgres_server: Server) -> str:
    with psycopg.connect(postgres_server.cluster.url(SUPERUSER, PASSWORD, "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS empty")
        connection.execute("CREATE DATABASE empty")
    return postgres_server.cluster.url(SUPERUSER, PASSWORD, "empty")


def test_applies_everything_once(empty_url: str) -> None:
    known = [one.name for one in migration.available()]
    assert migration.apply(empty_url) == known
    assert migration.apply(empty_url) == []


def test_several_at_once_apply_each_migration_once(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = [name for names in pool.map(migration.apply, [empty_url] * 4) for name in names]
    assert applied == [one.name for one in migration.available()]


def test_refuses_a_migration_that_was_edited_after_it_was_applied(empty_url: str) -> None:
    migration.apply(empty_url)
    with psycopg.connect(empty_url) as connection:
        connection.execute("UPDATE migrations SET sha256 = 'other'")
    with pytest.raises(migration.MigrationChanged, match="0001_spine"):
        migration.apply(empty_url)


def test_a_migration_that_fails_leaves_nothing(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migration.Migration("0001_broken.sql", "CREATE TABLE half (id int); SELECT no_such_function();")
    monkeypatch.setattr(migration, "available", lambda: [broken])
    with pytest.raises(psycopg.errors.UndefinedFunction):
        migration.apply(empty_url)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT to_regclass('half'), count(*) FROM migrations").fetchone() == (None, 0)


def test_the_gateway_sees_one_tenant_and_workers_see_all(
    postgres_owner_url: str, postgres_url: str, gateway_postgres_url: str
) -> None:
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("INSERT INTO tenants (id, name) VALUES ('a', 'a'), ('b', 'b')")
        connection.execute("INSERT INTO models (id, tenant_id, config) VALUES ('ma', 'a', '{}'), ('mb', 'b', '{}')")
    with psycopg.connect(postgres_url) as worker, psycopg.connect(gateway_postgres_url) as gateway:
        assert worker.execute("SELECT id FROM models ORDER BY id").fetchall() == [("ma",), ("mb",)]
        gateway.execute("SELECT set_config('hone.tenant', 'a', true)")
        assert gateway.execute("SELECT id FROM models ORDER BY id").fetchall() == [("ma",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            gateway.execute("SELECT * FROM journal")
