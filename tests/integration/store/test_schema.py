"""The schema: made once, by one process at a time; each role sees only its rows."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from hone.stack.postgres import SUPERUSER
from hone.store import schema
from hone.store.schema import SchemaMismatch
from tests.servers.postgres import PASSWORD, Server


@pytest.fixture
def empty_url(postgres_server: Server) -> str:
    with psycopg.connect(postgres_server.cluster.url(SUPERUSER, PASSWORD, "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS empty")
        connection.execute("CREATE DATABASE empty")
    return postgres_server.cluster.url(SUPERUSER, PASSWORD, "empty")


def test_tables_are_made_once(empty_url: str) -> None:
    assert schema.ensure(empty_url)
    assert not schema.ensure(empty_url)


def test_several_at_once_make_them_once(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(schema.ensure, [empty_url] * 4)) == [False, False, False, True]


@pytest.mark.parametrize(("change", "found"), [
    ("UPDATE schema_version SET version = 999", f"found version 999, expected {schema.VERSION}"),
    ("DROP TABLE schema_version", f"found version unknown, expected {schema.VERSION}")])
def test_a_database_of_another_release_is_refused(empty_url: str, change: str, found: str) -> None:
    schema.ensure(empty_url)
    with psycopg.connect(empty_url) as connection:
        connection.execute(change.encode())
    with pytest.raises(SchemaMismatch, match=found):
        schema.ensure(empty_url)


def test_a_schema_that_fails_leaves_nothing(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "text", lambda: "CREATE TABLE tenants (id int); SELECT no_such_function();")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        schema.ensure(empty_url)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT to_regclass('tenants')").fetchone() == (None,)


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
