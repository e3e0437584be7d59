"""A tenant sees its own rows only: an id of another tenant is answered like one that does not exist."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection, errors

from hone import keys
from hone.client import Client
from hone.client import errors as client_errors
from tests.integration.gateway import seed
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

READS: list[Callable[[Client, Seeded], Any]] = [
    lambda hone, seeded: hone.run(seeded.run.id),
    lambda hone, seeded: hone.events(seeded.run.id),
    lambda hone, seeded: next(hone.follow(seeded.run.id)),
    lambda hone, seeded: hone.metrics(seeded.run.id),
    lambda hone, seeded: hone.checkpoints(seeded.run.id),
    lambda hone, seeded: hone.trajectories(seeded.run.id),
    lambda hone, seeded: hone.trajectory(seeded.run.id, seeded.groups[0], 0),
    lambda hone, seeded: hone.exports(seeded.run.id),
    lambda hone, seeded: hone.cancel(seeded.run.id),
    lambda hone, seeded: hone.create_export(seeded.run.id),
    lambda hone, seeded: hone.model(seeded.run.spec["model"]["base"]),
]


@pytest.mark.parametrize("call", READS, ids=range(len(READS)))
def test_a_foreign_id_is_as_unknown_as_any(
    other: Client, seeded: Seeded, call: Callable[[Client, Seeded], Any],
) -> None:
    with pytest.raises(client_errors.NotFound) as foreign:
        call(other, seeded)
    assert "There is no" in foreign.value.detail or "has no trajectory" in foreign.value.detail


def test_the_same_words_for_a_foreign_and_an_unknown_run(other: Client, seeded: Seeded) -> None:
    said = []
    for run_id in (seeded.run.id, "run_unknown"):
        with pytest.raises(client_errors.NotFound) as refused:
            other.run(run_id)
        said.append(refused.value.detail.replace(run_id, "ID"))
    assert said[0] == said[1]


def test_lists_are_empty_for_the_other(other: Client, seeded: Seeded) -> None:
    assert seeded.groups
    assert [other.runs().data, other.models().data, other.datasets().data, other.usage().data] == [[], [], [], []]


def test_foreign_exports_and_bases_do_not_exist(hone: Client, other: Client, seeded: Seeded) -> None:
    export = hone.create_export(seeded.run.id, seeded.versions[1])
    with pytest.raises(client_errors.NotFound):
        other.export(export.id)
    for base in (seeded.versions[0], seeded.run.id, "toy"):
        with pytest.raises(client_errors.Refused) as refused:
            other.create_run(seed.spec(base))
        assert refused.value.problems[0].field == "model.base"


def test_a_foreign_dataset_does_not_exist_in_any_stage(
    hone: Client, other: Client, base: str, toy_directory: Path, tmp_path: Path,
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
    hone.upload_dataset("shown", tmp_path / "rows.jsonl")
    other.register_model(base, toy_directory)
    stage = {"until": 1, "task": {"dataset": "shown"}, "algorithm": "sft"}
    with pytest.raises(client_errors.Refused) as refused:
        other.create_run({**seed.spec(base), "stages": [stage]})
    assert [problem.field for problem in refused.value.problems] == ["stages[0].task.dataset"]
    assert hone.create_run({**seed.spec(base), "stages": [stage]}).state == "queued"


def test_names_are_each_tenants_own(hone: Client, other: Client, base: str, toy_directory: Path) -> None:
    theirs = other.register_model(base, toy_directory)
    assert theirs.id != hone.model(base).id
    run = other.create_run(seed.spec(base))
    with pytest.raises(client_errors.NotFound):
        hone.run(run.id)


def test_the_database_itself_refuses_the_gateways_role(postgres: TestDatabase, seeded: Seeded) -> None:
    with Connection.connect(postgres.gateway_url) as connection:
        with pytest.raises(errors.UndefinedObject), connection.transaction():
            connection.execute("SELECT count(*) FROM runs")
        connection.execute("SELECT set_config('hone.tenant', 'tenant_of_nobody', false)")
        assert connection.execute("SELECT count(*) FROM runs").fetchall() == [(0,)]
        with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
            connection.execute("INSERT INTO events (tenant_id, run_id, kind, message) VALUES ('t', %s, 'k', 'm')",
                               [seeded.run.id])


def test_the_gateways_role_sees_its_tenants_keys_and_raises_no_rights(
    postgres: TestDatabase, tenant: str, other_tenant: str,
) -> None:
    with Connection.connect(postgres.gateway_url) as connection:
        holder = connection.execute("SELECT tenant_id FROM key_holder(%s)", [keys.digest(tenant)]).fetchone()
        assert holder is not None
        connection.execute("SELECT set_config('hone.tenant', %s, false)", holder)
        assert connection.execute("SELECT id FROM tenants").fetchall() == [holder]
        assert connection.execute("SELECT DISTINCT tenant_id FROM api_keys").fetchall() == [holder]
        assert connection.execute("SELECT * FROM api_keys WHERE hash = %s", [keys.digest(other_tenant)]).rowcount == 0
        for written in ("UPDATE api_keys SET scopes = '{admin}'", "UPDATE tenants SET operator = true",
                        "DELETE FROM engines", "DELETE FROM group_transitions", "UPDATE versions SET state = 'live'"):
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(written.encode())
        assert connection.execute("UPDATE tenants SET max_running_groups = 1000000").rowcount == 0
