"""Limits that pause a run, as its driver finds them in rows, and how it goes on."""

from pathlib import Path

import psycopg

from tests.integration.learner.loop import Loop


def test_the_tokens_of_a_day_pause_a_run_until_the_next_day(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path,
) -> None:
    loop = Loop(postgres_url, postgres_owner_url, tmp_path, lambda _, index: ("1", float(index), "ok"), steps=2,
                batch={"prompts": 2, "samples": 2})
    tenant, run = loop.rows.tenant_id, loop.rows.run_id
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        connection.execute("UPDATE tenants SET max_tokens_a_day = 10 WHERE id = %s", [tenant])
        assert loop.move() == "running", "nothing is used yet"
        for kind, amount in (("completion_tokens", 6), ("trained_tokens", 4), ("prompt_tokens", 1000)):
            connection.execute("INSERT INTO usage (tenant_id, run_id, kind, amount) VALUES (%s, %s, %s, %s)",
                               [tenant, run, kind, amount])
        assert loop.move() == "paused"
        paused = loop.all("SELECT desired, reason, deadline FROM runs WHERE id = %s", run)[0]
        assert (paused["desired"], paused["reason"]) == (
            "run", "its tenant's 10 tokens for this day are used up (max_tokens_a_day)")
        connection.execute("UPDATE runs SET deadline = now() - interval '1 second' WHERE id = %s", [run])
        assert loop.move() == "paused", "its deadline waits"
        connection.execute("UPDATE usage SET created_at = created_at - interval '1 day' WHERE tenant_id = %s", [tenant])
        connection.execute("UPDATE runs SET deadline = now() + interval '1 minute', "
                           "rests = tstzmultirange(tstzrange(now() - interval '1 hour', NULL)) WHERE id = %s", [run])
        assert loop.move() == "running"
    left_s = loop.one("SELECT extract(epoch FROM deadline - now()) FROM runs WHERE id = %s", run)
    assert 3600 < left_s <= 3660, "the time of the pause does not count"
    assert loop.go() == "succeeded"
    events = loop.all("SELECT message FROM events WHERE run_id = %s AND kind = 'limit' ORDER BY id", run)
    assert [event["message"] for event in events] == [
        f"paused: {paused['reason']}", f"goes on; it was paused: {paused['reason']}"]


def test_a_suspended_tenant_s_run_pauses(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> None:
    loop = Loop(postgres_url, postgres_owner_url, tmp_path, lambda _, index: ("1", float(index), "ok"), steps=2,
                batch={"prompts": 2, "samples": 2})
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        connection.execute("UPDATE tenants SET suspended_at = now() WHERE id = %s", [loop.rows.tenant_id])
        assert loop.move() == "paused"
        assert loop.one("SELECT reason FROM runs WHERE id = %s", loop.rows.run_id) == "its tenant is suspended"
        connection.execute("UPDATE tenants SET suspended_at = NULL WHERE id = %s", [loop.rows.tenant_id])
    assert loop.move() == "running"


def test_storage_that_is_used_up_pauses_a_run_until_there_is_room_or_more_is_allowed(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path,
) -> None:
    loop = Loop(postgres_url, postgres_owner_url, tmp_path, lambda _, index: ("1", float(index), "ok"), steps=2,
                batch={"prompts": 2, "samples": 2})
    tenant, run = loop.rows.tenant_id, loop.rows.run_id
    quota = "UPDATE tenants SET max_stored_bytes = %s WHERE id = %s"
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        connection.execute(quota, [1000, tenant])
        assert loop.move() == "running", "nothing is stored yet"
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, 900, 900, %s)",
            [f"{run}_version", tenant, loop.rows.model_id,
             '{"files": {"w": {"key": "w", "bytes": 600, "sha256": "s"}}, "weights_sha256": "s"}'])
        connection.execute(
            "INSERT INTO stored_sizes (owner_id, tenant_id, bytes, objects, begun_bytes, begun_objects) "
            "VALUES (%s, %s, 400, 1, 400, 1)",
            [run, tenant])
        assert loop.move() == "paused", "weights and samples together"
        words = "its tenant's 1000 bytes of storage are used up (max_stored_bytes)"
        assert loop.one("SELECT reason FROM runs WHERE id = %s", run) == words
        connection.execute(quota, [1001, tenant])
        assert loop.move() == "running"
        connection.execute(quota, [900, tenant])
        assert loop.move() == "paused"
        connection.execute("UPDATE versions SET weights_deleted_at = now() WHERE id = %s", [f"{run}_version"])
        assert loop.move() == "running"
        connection.execute("UPDATE versions SET state = 'abandoned' WHERE id = %s", [f"{run}_version"])
    assert loop.go() == "succeeded"


def test_a_driver_sees_what_the_rest_of_the_budget_pays_for(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path,
) -> None:
    loop = Loop(postgres_url, postgres_owner_url, tmp_path, lambda _, index: ("1", float(index), "ok"), steps=2,
                batch={"prompts": 2, "samples": 2})
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        connection.execute("UPDATE runs SET budget = 3 WHERE id = %s", [loop.rows.run_id])
        connection.execute("INSERT INTO prices (currency, trained_tokens) VALUES ('EUR', 1e6)")
        limits = loop.limits()
        assert (limits.reached(0), limits.left) == (None, None), "nothing is known of what a step costs"
        connection.execute("INSERT INTO usage (tenant_id, run_id, kind, amount) VALUES (%s, %s, 'trained_tokens', 2)",
                           [loop.rows.tenant_id, loop.rows.run_id])
        assert (limits.reached(1), limits.left) == (None, 0.5)
        connection.execute("DELETE FROM prices WHERE since > '-infinity'")
