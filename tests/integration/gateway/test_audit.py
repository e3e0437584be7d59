"""The audit log: one row for each request that changed something, and for no other."""

import hashlib
from datetime import UTC, datetime

import pytest
from psycopg import Connection
from psycopg import errors as sql_errors

from hone.client import Client, errors, every
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

ROWS = b'{"prompt": "a", "completion": "b"}\n'


def newest(hone: Client) -> list[str]:
    """Return "action subject" of the log, oldest first."""
    return [f"{one.action} {one.subject}" for one in reversed(list(every(hone.audit)))]


def test_what_changes_something_is_logged_once(hone: Client, base: str) -> None:
    before = len(newest(hone))
    run = hone.create_run(seed.spec(base), idempotency_key="told")
    hone.create_run(seed.spec(base), idempotency_key="told")
    hone.pause(run.id)
    hone.upload_dataset("told", ROWS, idempotency_key="uploaded")
    hone.upload_dataset("told", ROWS, idempotency_key="uploaded")
    key = hone.create_key("told")
    hone.revoke_key(key.prefix)
    hone.run(run.id)
    hone.dry_run(seed.spec(base))
    with pytest.raises(errors.Refused):
        hone.create_run(seed.spec("absent"))
    with pytest.raises(errors.NotFound):
        hone.cancel("run_absent")
    dataset = hone.dataset("told").id
    assert newest(hone)[before:] == [
        f"runs.create {run.id}", f"runs.change {run.id}", f"datasets.upload {dataset}", f"keys.create {key.id}",
        f"keys.revoke {key.id}"]


def test_an_upload_in_parts_is_logged_by_its_beginning_and_its_end(gateway: Gateway, hone: Client, tenant: str) -> None:
    digest = hashlib.sha256(ROWS).hexdigest()
    before = len(newest(hone))
    with gateway.http(tenant) as http:
        file = {"name": "rows.jsonl", "bytes": len(ROWS), "sha256": digest}
        upload = http.post("/v1/uploads", json={"kind": "dataset", "name": "parted", "files": [file]}).json()["id"]
        http.put(f"/v1/uploads/{upload}/files/rows.jsonl/parts/1?sha256={digest}", content=ROWS,
                 headers={"Content-Type": "application/octet-stream"}).raise_for_status()
        done = http.post(f"/v1/uploads/{upload}/complete").json()
    logged = newest(hone)[before:]
    assert logged[0] == f"uploads.create {upload}"
    assert [line.split()[0] for line in logged] == ["uploads.create", "uploads.complete"]
    assert logged[1].split()[1] in (upload, done["artifact_id"])


def test_an_entry_says_who_from_where_and_when_and_holds_no_secret(
    gateway: Gateway, hone: Client, tenant: str, postgres: TestDatabase,
) -> None:
    began = datetime.now(UTC)
    with gateway.http(tenant) as http:
        made = http.post("/v1/keys", json={"name": "secretive"}, headers={"X-Request-Id": "request-7"}).json()
    (entry,) = hone.audit(action="keys.create", subject=made["id"]).data
    assert hone.audit(action="keys.", subject=made["id"][5:].upper()).data == [entry], "parts are enough"
    assert (entry.key, entry.request_id, entry.address) == ("first key", "request-7", "127.0.0.1")
    assert entry.created_at >= began
    with Connection.connect(postgres.owner_url) as connection:
        rows = connection.execute("SELECT audit_log::text FROM audit_log").fetchall()
    assert made["secret"] not in str(rows)
    assert tenant not in str(rows)


def test_filters_and_pages(hone: Client) -> None:
    keys = [hone.create_key(f"paged {number}") for number in range(3)]
    page = hone.audit(action="keys.create", limit=2)
    assert [one.subject for one in page.data] == [keys[2].id, keys[1].id]
    assert page.next is not None
    assert hone.audit(action="keys.create", limit=1, after=page.next).data[0].subject == keys[0].id
    assert hone.audit(key="key_absent").data == []
    own = hone.account().key_id
    for part in (own, own[:12], "First k", "tml-"):
        assert {one.key_id for one in hone.audit(key=part).data} == {own}, part
    assert {one.action for one in every(hone.audit, action="keys.")} >= {"keys.create", "keys.revoke"}
    assert {one.action.split(".")[0] for one in every(hone.audit, action="keys.")} == {"keys"}
    assert hone.audit(action="eys.create").data == []
    of_first = {one.action for one in every(hone.audit, subject=keys[0].id)}
    assert of_first == {one.action for one in every(hone.audit, subject=keys[0].id[5:])} == {"keys.create"}
    assert (len(hone.audit(address="127.0.").data) > 0, hone.audit(address="10.").data) == (True, [])
    (found,) = hone.audit(search=keys[1].id.upper()).data
    assert hone.audit(search=found.request_id).data == [found]
    assert found not in hone.audit(until=found.created_at).data
    assert found in hone.audit(since=found.created_at).data
    later = datetime(2999, 1, 1, tzinfo=UTC)
    assert (hone.audit(since=later).data, hone.audit(until=later, limit=1).data != []) == ([], True)


def test_a_tenant_reads_its_own_log_and_an_operator_is_logged_where_it_acts(
    gateway: Gateway, hone: Client, other: Client,
) -> None:
    key = hone.create_key("ours")
    assert key.id not in {one.subject for one in every(other.audit)}
    tenant = hone.create_tenant("audited")
    first = hone.create_tenant_key("audited", "first")
    assert hone.audit(subject=tenant.id).data[0].action == "tenants.create"
    with gateway.client(first.secret) as client:
        (entry,) = client.audit().data
    assert (entry.action, entry.subject, entry.key_id, entry.key) == (
        "tenants.create_key", first.id, hone.account().key_id, None)
    runner = hone.create_key("runner")
    with gateway.client(runner.secret) as client, pytest.raises(errors.Forbidden):
        client.audit()


def test_nobody_changes_the_log(postgres: TestDatabase, hone: Client) -> None:
    hone.create_key("told for good")
    for url in (postgres.gateway_url, postgres.worker_url):
        with Connection.connect(url) as connection:
            connection.execute("SELECT set_config('hone.tenant', 'tenant_1', false)")
            for change in ("UPDATE audit_log SET action = ''", "DELETE FROM audit_log"):
                with pytest.raises(sql_errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(change.encode())
