"""Keys: what each scope may do, what a key can give, and how a key ends."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import Connection

from hone import keys
from hone.client import Client, errors
from hone.store.database import Database
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone


def test_scopes(gateway: Gateway, hone: Client, base: str) -> None:
    run = hone.create_run(seed.spec(base))
    reader, runner = hone.create_key("reader", ["read"]), hone.create_key("runner", ["run"])
    with gateway.client(reader.secret) as reading, gateway.client(runner.secret) as running:
        assert reading.run(run.id).id == running.run(run.id).id
        assert running.pause(run.id).desired == "pause"
        assert (reading.account().key, reading.account().scopes) == ("reader", ["read"])
        with pytest.raises(errors.Forbidden) as refused:
            reading.cancel(run.id)
        assert refused.value.detail == "This needs a key with the scope run; the key reader has read."
        assert (refused.value.status, refused.value.document["scope"]) == (403, "run")
        for lacking in (reading, running):
            with pytest.raises(errors.Forbidden, match="scope admin"):
                lacking.keys()


def test_a_refusal_comes_before_the_body_is_read(gateway: Gateway, hone: Client) -> None:
    reader = hone.create_key("early", ["read"])
    with gateway.http(reader.secret) as http:
        answer = http.post("/v1/runs", content=b"no JSON", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")


def test_a_key_gives_no_more_than_it_has(gateway: Gateway, hone: Client) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    short = hone.create_key("short", ["admin"], expires_at=soon)
    with gateway.client(short.secret) as client:
        assert client.create_key("heir", ["admin"]).expires_at == soon
        with pytest.raises(errors.Refused, match="at most"):
            client.create_key("longer", ["read"], expires_at=soon + timedelta(hours=1))
    with pytest.raises(errors.Refused, match="has not passed"):
        hone.create_key("late", ["read"], expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(errors.Refused, match="scopes"):
        hone.create_key("nothing", [])


def test_a_revoked_key_and_an_expired_key_are_refused(gateway: Gateway, hone: Client, postgres: TestDatabase) -> None:
    revoked, expired = hone.create_key("revoked"), hone.create_key("expired")
    with gateway.client(revoked.secret) as client:
        client.runs()
        assert hone.revoke_key(revoked.prefix).revoked_at is not None
        with pytest.raises(errors.Unauthenticated):
            client.runs()
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute("UPDATE api_keys SET expires_at = now() WHERE id = %s", [expired.id])
    with gateway.client(expired.secret) as client, pytest.raises(errors.Unauthenticated):
        client.runs()


def test_the_last_admin_key_stays(gateway: Gateway, hone: Client) -> None:
    hone.create_tenant("locked")
    first = hone.create_tenant_key("locked", "first")
    with gateway.client(first.secret) as client:
        reader = client.create_key("reader", ["read"])
        with pytest.raises(errors.Conflict, match="first is the last admin key of this tenant"):
            client.revoke_key(first.id)
        assert client.revoke_key(reader.id).revoked_at is not None
        second = client.create_key("second", ["admin"])
        with gateway.client(second.secret) as other, ThreadPoolExecutor(2) as pool:
            ended = [pool.submit(client.revoke_key, second.id), pool.submit(other.revoke_key, first.id)]
            refused = [one.exception() for one in ended]
    assert len([one for one in refused if one is None]) == 1, "two admin keys that revoke each other leave one"


def test_keys_are_listed_with_their_last_use_and_without_secrets(
    gateway: Gateway, hone: Client, postgres: TestDatabase,
) -> None:
    key = hone.create_key("used")
    assert hone.keys().data[0].last_used_at is None
    with gateway.client(key.secret) as client:
        for _ in range(3):
            client.runs()
    found = hone.keys().data[0]
    assert (found.id, found.prefix, found.scopes) == (key.id, key.secret[:10], ["read", "run"])
    assert found.last_used_at is not None
    with Connection.connect(postgres.owner_url) as connection:
        stored = connection.execute("SELECT * FROM api_keys WHERE id = %s", [key.id]).fetchone()
    assert key.secret not in str(stored)
    assert key.secret not in gateway.log.read_text()


def test_keys_of_another_tenant_do_not_exist(hone: Client, other: Client, database: Database) -> None:
    key = hone.create_key("ours")
    assert key.id not in {one.id for one in other.keys().data}
    with pytest.raises(errors.NotFound, match="There is no key"):
        other.revoke_key(key.id)
    assert hone.keys().data[0].revoked_at is None
    assert database.one("api_keys.holder", hash=keys.digest(key.secret)) is not None


def test_a_key_deletes_what_it_made_and_an_admin_deletes_everything(gateway: Gateway, hone: Client, base: str) -> None:
    ours = hone.create_run(seed.spec(base))
    hone.upload_dataset("ours", b'{"prompt": "a", "completion": "b"}\n')
    with gateway.client(hone.create_key("maker").secret) as client:
        theirs = client.create_run(seed.spec(base))
        client.upload_dataset("theirs", b'{"prompt": "a", "completion": "b"}\n')
        for refused in (lambda: client.delete_run(ours.id, force=True), lambda: client.delete_dataset("ours")):
            with pytest.raises(errors.Forbidden, match="scope admin"):
                refused()
        assert hone.run(ours.id).state == "queued"
        assert client.delete_run(theirs.id, force=True).id == theirs.id
        client.delete_dataset("theirs")
    hone.delete_run(ours.id, force=True)
    hone.delete_dataset("ours")
