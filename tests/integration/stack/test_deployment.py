"""The servers of a deployment, made ready by `hone prepare`."""

import secrets
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from hone import keys
from hone.spec.settings import Settings
from hone.stack import deployment, provision, readiness
from hone.stack.record import load_or_create
from hone.store import schema
from hone.store.database import Database
from tests.servers.postgres import Server


@pytest.fixture
def empty(postgres_server: Server) -> str:
    """URL of an empty database, as its owner."""
    name = f"hone_{secrets.token_hex(6)}"
    url = postgres_server.database(f"{name}_other").owner_url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def as_login(url: str, login: str, password: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{login}:{quote(password, safe='')}@{parts.netloc.rpartition('@')[2]}"))


def settings(empty: str, tmp_path: Path, password: str = "p@ss/word", sinks: str = "") -> Settings:
    login = f"login_{urlsplit(empty).path[1:]}"
    return Settings(
        database_url=as_login(empty, f"{login}_worker", password),
        gateway_database_url=as_login(empty, f"{login}_gateway", password), objects_url=f"file://{tmp_path}/objects",
        sinks=sinks)


def test_a_second_time_changes_nothing_and_both_roles_can_log_in(empty: str, tmp_path: Path) -> None:
    wanted = settings(empty, tmp_path)
    as_gateway = wanted.model_copy(update={"database_url": ""})
    assert "no tables yet" in (readiness.missing(wanted.model_copy(update={"database_url": empty})) or "")
    assert readiness.missing(as_gateway), "its login does not exist yet"
    assert deployment.prepare(wanted, empty, timeout_s=60).before is None
    assert (readiness.missing(wanted), readiness.missing(as_gateway)) == (None, None)
    with psycopg.connect(empty, autocommit=True) as owner:
        owner.execute("UPDATE schema_version SET version = version - 1")
        assert "not yet" in (readiness.missing(wanted) or ""), "the pods of an upgrade wait for it"
        owner.execute("UPDATE schema_version SET version = version + 1")
    assert deployment.prepare(wanted, empty, timeout_s=60).before == schema.VERSION
    worker = Database(wanted.database_url, size=1)
    holder = worker.one("api_keys.holder", hash=keys.digest(keys.create(worker, "first").secret))
    assert holder is not None
    assert (holder["name"], holder["scopes"], holder["operator"]) == ("first", ["admin"], True)
    worker.close()
    with psycopg.connect(wanted.gateway_database_url) as gateway, pytest.raises(psycopg.errors.InsufficientPrivilege):
        gateway.execute("SELECT * FROM journal")


@pytest.mark.parametrize("by", ["hone prepare", "hone up"])
def test_older_tables_are_upgraded(empty: str, tmp_path: Path, by: str) -> None:
    with psycopg.connect(empty) as owner:
        owner.execute(schema.baseline().encode())
        owner.execute("INSERT INTO schema_version VALUES (%s)", (schema.BASELINE,))
        owner.execute("INSERT INTO tenants (id, name) VALUES ('a', 'kept')")
    if by == "hone prepare":
        upgrade = deployment.prepare(settings(empty, tmp_path), empty, timeout_s=60)
        assert str(upgrade) == f"the tables were upgraded from version 27 to {schema.VERSION}"
    else:
        record = load_or_create(tmp_path)
        provision.prepare(record, provision.external(record, empty, ""))
    with psycopg.connect(empty) as owner:
        found = owner.execute("SELECT version, name FROM schema_version, tenants").fetchall()
    assert found == [(schema.VERSION, "kept")]


def test_the_first_start_makes_a_key_and_later_ones_do_not(empty: str, tmp_path: Path) -> None:
    wanted = settings(empty, tmp_path)
    deployment.prepare(wanted, empty, timeout_s=60)
    key = deployment.first_key(wanted)
    assert key is not None
    assert deployment.first_key(wanted) is None
    worker = Database(wanted.database_url, size=1)
    assert (worker.one("api_keys.holder", hash=keys.digest(key)) or {})["scopes"] == ["admin"]
    worker.close()


def test_a_changed_password_is_used(empty: str, tmp_path: Path) -> None:
    deployment.prepare(settings(empty, tmp_path), empty, timeout_s=60)
    changed = settings(empty, tmp_path, password="another")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(changed.database_url)
    deployment.prepare(changed, empty, timeout_s=60)
    psycopg.connect(changed.database_url).close()


def test_an_owner_without_rights_to_make_roles_takes_logins_that_exist(
    empty: str, tmp_path: Path
) -> None:
    name = urlsplit(empty).path[1:]
    wanted = settings(empty, tmp_path, password="made")
    owner = as_login(empty, f"owner_{name}", "word")
    made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
    with psycopg.connect(empty, autocommit=True) as dba:
        dba.execute(made.format(sql.Identifier(f"owner_{name}"), "word"))
        dba.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
            sql.Identifier(name), sql.Identifier(f"owner_{name}")))
        with pytest.raises(provision.RoleRefused, match="make that login yourself"):
            deployment.prepare(wanted, owner, timeout_s=60)
        for url, role in ((wanted.database_url, "hone_worker"), (wanted.gateway_database_url, "hone_gateway")):
            login = str(urlsplit(url).username)
            dba.execute(sql.SQL("{} IN ROLE {}").format(
                made.format(sql.Identifier(login), "made"), sql.Identifier(role)))
    found = deployment.prepare(wanted, owner, timeout_s=60).before
    assert found == schema.VERSION, "the tables were made before the refusal"
    assert deployment.first_key(wanted)


def test_sinks_that_are_not_named_are_deleted(empty: str, tmp_path: Path) -> None:
    deployment.prepare(settings(empty, tmp_path), empty, timeout_s=60)
    with psycopg.connect(empty) as connection:
        connection.execute("INSERT INTO sinks (name) VALUES ('tensorboard:/a'), ('tensorboard:/b')")
    deployment.prepare(settings(empty, tmp_path, sinks="tensorboard:///b"), empty, timeout_s=60)
    with psycopg.connect(empty) as connection:
        assert connection.execute("SELECT name FROM sinks").fetchall() == [("tensorboard:/b",)]


def test_a_missing_setting_is_named(empty: str) -> None:
    with pytest.raises(ValueError, match="HONE_OBJECTS_URL"):
        deployment.prepare(Settings(database_url=empty, gateway_database_url=empty), empty, 1)


def test_a_database_that_is_away_has_timeout_s_to_answer(empty: str, tmp_path: Path) -> None:
    nowhere = "postgresql://a:b@127.0.0.1:1/none"
    with pytest.raises(psycopg.OperationalError):
        deployment.prepare(settings(empty, tmp_path), nowhere, timeout_s=1)
