"""The operator administers all tenants; nobody else does, whatever the gateway is asked."""

from pathlib import Path

import pytest
from psycopg import Connection
from psycopg import errors as sql_errors

from hone import keys
from hone.client import Client, errors, every
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone


def test_a_tenant_is_made_with_its_first_key(gateway: Gateway, hone: Client, other: Client) -> None:
    tenant = hone.create_tenant("lab")
    with pytest.raises(errors.Conflict, match="The name lab is taken"):
        hone.create_tenant("lab")
    key = hone.create_tenant_key("lab", "first")
    with gateway.client(key.secret) as client:
        account = client.account()
        assert (account.tenant_id, account.operator, account.scopes) == (tenant.id, False, ["admin"])
        assert [one.id for one in client.keys().data] == [key.id]
        assert client.create_key("second").scopes == ["read", "run"]
    assert key.id not in {one.id for one in [*hone.keys().data, *other.keys().data]}
    assert {"default", "others", "lab"} <= {one.name for one in hone.tenants().data}


def test_a_tenant_is_renamed_and_gets_quotas(hone: Client) -> None:
    tenant = hone.create_tenant("before")
    changed = hone.change_tenant("before", name="after", max_runs=2, max_tokens_a_day=10**12, month_budget=5)
    assert (changed.name, changed.max_runs, changed.max_tokens_a_day, changed.month_budget) == ("after", 2, 10**12, 5.0)
    assert hone.change_tenant("after", max_runs=None).max_runs is None
    found = hone.tenant(tenant.id)
    assert (found.name, found.max_runs, found.max_tokens_a_day, found.max_running_groups) == (
        "after", None, 10**12, 4096)
    with pytest.raises(errors.Refused, match="max_runs"):
        hone.change_tenant("after", max_runs=-1)
    with pytest.raises(errors.NotFound, match="There is no tenant nobody"):
        hone.change_tenant("nobody", max_runs=1)


def test_no_key_of_a_suspended_tenant_is_accepted(gateway: Gateway, hone: Client) -> None:
    hone.create_tenant("resting")
    key = hone.create_tenant_key("resting", "first")
    with gateway.client(key.secret) as client:
        client.runs()
        assert hone.change_tenant("resting", suspended=True).suspended_at is not None
        with pytest.raises(errors.Unauthenticated):
            client.runs()
        assert hone.change_tenant("resting", suspended=False).suspended_at is None
        client.runs()
    with pytest.raises(errors.Conflict, match="default is the operator"):
        hone.change_tenant("default", suspended=True)


def test_an_empty_tenant_is_deleted_with_its_keys(
    gateway: Gateway, hone: Client, toy_directory: Path, postgres: TestDatabase,
) -> None:
    tenant = hone.create_tenant("leaving")
    with gateway.client(hone.create_tenant_key("leaving", "first").secret) as client:
        client.register_model("toy", toy_directory)
        client.upload_dataset("rows", b'{"prompt": "a", "answer": "b"}\n')
        runs = [client.create_run(seed.spec("toy")).id for _ in range(2)]
        for left in ("2 runs, 1 model, 1 dataset", "1 model, 1 dataset"):
            with pytest.raises(errors.Conflict, match=f"leaving still has {left}. Delete them first"):
                hone.delete_tenant("leaving")
            for run in runs:
                seed.set_state(postgres.owner_url, run, "cancelled")
                client.delete_run(run)
        client.delete_model("toy")
        client.delete_dataset("rows")
        assert hone.delete_tenant(tenant.id).name == "leaving"
        with pytest.raises(errors.Unauthenticated):
            client.runs()
    for gone in ("leaving", tenant.id):
        with pytest.raises(errors.NotFound, match=f"There is no tenant {gone}"):
            hone.delete_tenant(gone)
        with pytest.raises(errors.NotFound):
            hone.create_tenant_key(gone, "late")
    assert tenant.id not in {one.id for one in every(hone.tenants)}
    assert ("tenants.delete", tenant.id) in {(one.action, one.subject) for one in hone.audit(limit=5).data}
    assert hone.create_tenant("leaving").id != tenant.id, "the name is free"
    with pytest.raises(errors.Conflict, match="default is the operator"):
        hone.delete_tenant("default")


def test_nobody_else_administers_tenants(gateway: Gateway, hone: Client, other: Client) -> None:
    runner = hone.create_key("operating?", ["run"])
    with gateway.client(runner.secret) as client:
        for lacking in (client, other):
            for call in (lacking.tenants, lambda one=lacking: one.create_tenant("mine"),
                         lambda one=lacking: one.change_tenant("default", max_runs=1),
                         lambda one=lacking: one.create_tenant_key("default", "mine"),
                         lambda one=lacking: one.delete_tenant("others")):
                with pytest.raises(errors.Forbidden):
                    call()


def test_the_database_lets_only_an_operator_operate(
    postgres: TestDatabase, tenant: str, other_tenant: str,
) -> None:
    with Connection.connect(postgres.gateway_url) as connection:
        for secret, operates in ((tenant, True), (other_tenant, False)):
            with connection.transaction(force_rollback=True):
                holder = connection.execute("SELECT tenant_id FROM key_holder(%s)", [keys.digest(secret)]).fetchone()
                connection.execute("SELECT set_config('hone.tenant', %s, true)", holder)
                connection.execute("SELECT set_config('hone.operator', 'on', true)")
                seen = connection.execute("SELECT count(*) > 1 FROM tenants").fetchone()
                changed = connection.execute("UPDATE tenants SET max_runs = 1 WHERE name = 'others'").rowcount
                assert (seen, changed == 1 or not operates) == ((operates,), True)
                foreign = connection.execute("SELECT count(*) FROM api_keys WHERE tenant_id <> %s", holder).fetchone()
                assert foreign == (0,), "not even an operator sees another tenant's keys"
                if not operates:
                    with pytest.raises(sql_errors.InsufficientPrivilege), connection.transaction():
                        connection.execute("SELECT * FROM delete_tenant((SELECT id FROM tenants WHERE NOT operator))")
                with pytest.raises(sql_errors.InsufficientPrivilege), connection.transaction():
                    connection.execute("UPDATE tenants SET operator = true")
