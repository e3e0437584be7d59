"""The tables: made once and upgraded in steps, by one process at a time; each role sees only its rows."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.rows import dict_row

from hone.stack.postgres import SUPERUSER
from hone.store import schema
from hone.store.schema import MigrationFailed, SchemaMismatch, Upgrade
from tests.servers.postgres import PASSWORD, Server

NEXT = schema.VERSION + 1


@pytest.fixture
def empty_url(postgres_server: Server) -> str:
    with psycopg.connect(postgres_server.cluster.url(SUPERUSER, PASSWORD, "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS empty")
        connection.execute("CREATE DATABASE empty")
    return postgres_server.cluster.url(SUPERUSER, PASSWORD, "empty")


@pytest.fixture
def next_release(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that has this process be the next release, with one more migration."""
    kept = schema.migration

    def become(text: str) -> None:
        monkeypatch.setattr(schema, "VERSION", NEXT)
        monkeypatch.setattr(schema, "migration", lambda number: text if number == NEXT else kept(number))

    return become


def at_baseline(url: str) -> None:
    """Make the tables as the first release that can be upgraded did."""
    with psycopg.connect(url) as connection:
        connection.execute(schema.baseline().encode())
        connection.execute("INSERT INTO schema_version VALUES (%s)", (schema.BASELINE,))


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'new_%'")]


def test_tables_are_made_once(empty_url: str) -> None:
    assert schema.ensure(empty_url) == Upgrade(None, schema.VERSION)
    assert schema.ensure(empty_url) == Upgrade(schema.VERSION, schema.VERSION)


def test_several_at_once_make_and_upgrade_them_once(
    empty_url: str, next_release: Callable[[str], None],
) -> None:
    with ThreadPoolExecutor(4) as pool:
        before = [made.before for made in pool.map(schema.ensure, [empty_url] * 4)]
        assert before.count(None) == 1
        next_release("CREATE TABLE new_one (id text);")
        assert {made.now for made in pool.map(schema.ensure, [empty_url] * 4)} == {NEXT}
    assert tables(empty_url) == ["new_one"]


def test_older_tables_are_upgraded_and_refused_by_processes_until_then(empty_url: str) -> None:
    at_baseline(empty_url)
    with psycopg.connect(empty_url, row_factory=dict_row) as connection:
        with pytest.raises(SchemaMismatch, match=f"version 27, this release needs version {schema.VERSION}"):
            schema.expect_current(connection)
        connection.rollback()
        assert str(schema.ensure(empty_url)) == f"the tables were upgraded from version 27 to {schema.VERSION}"
        schema.expect_current(connection)


def test_a_migration_that_fails_changes_nothing_and_is_named(
    empty_url: str, next_release: Callable[[str], None],
) -> None:
    at_baseline(empty_url)
    next_release("-- Adds nothing.\nCREATE TABLE new_one (id text); SELECT no_such_function();")
    with pytest.raises(MigrationFailed, match=rf"migration 0{NEXT} \(Adds nothing\.\) changed nothing: .*no_such_func"):
        schema.ensure(empty_url)
    assert tables(empty_url) == []
    with psycopg.connect(empty_url, row_factory=dict_row) as connection:
        assert schema.version(connection) == NEXT - 1, "the migrations before it stay"


def test_a_migration_gives_up_a_table_in_use_so_that_nobody_waits_behind_it(
    empty_url: str, next_release: Callable[[str], None], monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema.ensure(empty_url)
    next_release("-- Adds a column.\nCREATE TABLE new_one (id text); ALTER TABLE runs ADD COLUMN note text;")
    monkeypatch.setattr(schema, "_WAITS", "-c lock_timeout=100ms")
    with psycopg.connect(empty_url) as reader:
        reader.execute("SELECT count(*) FROM runs")
        with pytest.raises(psycopg.OperationalError, match="lock timeout"):
            schema.ensure(empty_url)
        assert tables(empty_url) == []
    assert schema.ensure(empty_url) == Upgrade(NEXT - 1, NEXT)


@pytest.mark.parametrize(("change", "found"), [
    ("UPDATE schema_version SET version = 999", f"version 999, this release knows versions up to {schema.VERSION}"),
    ("UPDATE schema_version SET version = 26", "version 26, this release upgrades versions from 27 on"),
    ("DROP TABLE schema_version", "no known version, this release upgrades versions from 27 on")])
def test_a_database_of_another_release_is_refused(empty_url: str, change: str, found: str) -> None:
    schema.ensure(empty_url)
    with psycopg.connect(empty_url) as connection:
        connection.execute(change.encode())
    with pytest.raises(SchemaMismatch, match=found):
        schema.ensure(empty_url)


def test_a_baseline_that_fails_leaves_nothing(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "baseline", lambda: "CREATE TABLE tenants (id int); SELECT no_such_function();")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        schema.ensure(empty_url)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT to_regclass('tenants')").fetchone() == (None,)


def test_the_gateways_role_learns_the_version_before_and_after_it_may_read_it(
    empty_url: str, postgres_server: Server,
) -> None:
    at_baseline(empty_url)
    url = postgres_server.cluster.url("test_gateway", PASSWORD, "empty")
    with psycopg.connect(url, row_factory=dict_row) as gateway:
        assert schema.version(gateway) == 27
        gateway.rollback()
        schema.ensure(empty_url)
        assert schema.version(gateway) == schema.VERSION


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
