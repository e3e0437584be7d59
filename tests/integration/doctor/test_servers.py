"""Checks of real servers: those that answer, those that do not, and a stack that runs."""

import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from hone.doctor import machine, servers, services
from hone.doctor.deployment import find
from hone.doctor.findings import Finding
from hone.stack.embedded import Stack
from hone.stack.processes import KINDS
from hone.store import objects, schema
from hone.store.objects import Objects
from hone.store.objects.directory import Directory
from tests.servers import stub
from tests.servers.postgres import TestDatabase
from tests.servers.s3 import Server

CHECKS = {"postgres": servers.postgres, "broker": servers.broker, "objects": servers.object_store}
NOWHERE = {
    "HONE_DATABASE_URL": "postgresql://me:hunter2@127.0.0.1:1/hone", "HONE_BROKER_URL": "amqp://me:hunter2@127.0.0.1:1//",
    "HONE_OBJECTS_URL": "s3://key:hunter2@127.0.0.1:1/bucket"}


def look(check: str, **variables: str) -> list[Finding]:
    return list(CHECKS[check](find(Path("/nonexistent"), variables)))


def levels(findings: list[Finding]) -> dict[str, str]:
    return {one.check: one.level for one in findings}


def test_servers_that_answer(postgres: TestDatabase, rabbitmq_url: str, s3: Server) -> None:
    for url in (postgres.owner_url, postgres.worker_url):
        server, tables = look("postgres", HONE_DATABASE_URL=url)
        assert (server.level, "fsync is off" in server.found) == ("warning", True), "as in all tests, for speed"
        assert (tables.level, tables.found) == ("ok", f"version {schema.VERSION}")
    assert levels(look("broker", HONE_BROKER_URL=rabbitmq_url)) == {"broker": "ok"}
    assert levels(look("objects", HONE_OBJECTS_URL=s3.url("doctor"))) == {"objects": "ok"}
    assert list(objects.connect(s3.url("doctor")).list("")) == []


@pytest.mark.parametrize(("check", "variable"), list(zip(CHECKS, NOWHERE, strict=True)))
def test_servers_that_do_not_answer_are_named_without_their_password(check: str, variable: str) -> None:
    (found,) = look(check, **{variable: NOWHERE[variable]})
    assert (found.level, "127.0.0.1:1" in found.found, variable in found.mend) == ("error", True, True)
    assert "hunter2" not in found.found + found.mend


def test_a_wrong_secret_and_a_database_of_another_release(s3: Server, postgres: TestDatabase) -> None:
    (found,), tables = look("objects", HONE_OBJECTS_URL=s3.url("doctor", secret="wrong")), dict[int, Finding]()
    assert (found.level, "refused this key and secret" in found.found) == ("error", True)
    with psycopg.connect(postgres.owner_url) as connection:
        for version in (999, schema.BASELINE, 26):
            connection.execute("UPDATE schema_version SET version = %s", (version,))
            connection.commit()
            tables[version] = look("postgres", HONE_DATABASE_URL=postgres.owner_url)[1]
        connection.execute("UPDATE schema_version SET version = %s", (schema.VERSION,))
    assert {version: one.level for version, one in tables.items()} == {999: "error", 27: "warning", 26: "error"}
    assert "knows versions up to" in tables[999].mend
    assert f"version 27, {schema.VERSION - 27} to come: 028 Lets gateways and doors read" in tables[27].found
    assert "hone prepare" in tables[27].mend


class Forgetful(Directory):
    """A store that lists nothing."""

    def list(self, prefix: str, after: str = ""):  # noqa: ARG002
        return iter(())


class Changing(Directory):
    """A store that gives back other bytes."""

    def get(self, key: str) -> bytes:
        return super().get(key)[::-1]


@pytest.mark.parametrize(("kind", "needs"), [
    (Forgetful, ["any key", "lists", "deletes"]), (Changing, ["small objects"])])
def test_a_store_that_does_not_do_what_is_asked(
    kind: Callable[[Path], Objects], needs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(objects, "connect", lambda _: kind(tmp_path))
    found = look("objects", HONE_OBJECTS_URL="file:///anywhere")
    assert levels(found) == {f"objects: {need}": "error" for need in needs}
    assert list(Directory(tmp_path).list("")) == []


def test_a_stack_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_TIMEOUT_S", 0.5)  # the stand-in never answers
    commands = {kind: [sys.executable, stub.__file__] for kind in KINDS}
    checks = [*machine.CHECKS[-6:]]
    assert levels(list(machine.look(tmp_path, {}, checks)))["stack"] == "ok"
    with Stack(tmp_path, commands=commands, counts={"value": 0}) as stack:
        stack.wait_ready(120)
        found = list(machine.look(tmp_path, {}, checks))
        assert {name: level for name, level in levels(found).items() if name != "gateway"} == {
            "ports": "ok", "postgres": "ok", "tables": "ok", "broker": "ok", "objects": "ok", "stack": "ok"}
        assert levels(found)["gateway"] == "error", "a stand-in only listens"
        stack.supervisor.stop("reward-0")
        down = list(machine.look(tmp_path, {}, [services.processes]))
        assert [(one.level, one.found.partition(":")[0]) for one in down] == [("error", "reward-0 is STOPPED")]
