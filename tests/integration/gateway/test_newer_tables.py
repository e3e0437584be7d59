"""A gateway during a rolling upgrade: it serves beside the next release's tables, and is not started there again."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from hone.client import Client
from hone.store import schema
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

NEXT = schema.VERSION + 1
MIGRATION = """-- Adds a column to each table, a table and an index.
ALTER TABLE runs ADD COLUMN of_next text NOT NULL DEFAULT 'new';
ALTER TABLE steps ADD COLUMN of_next integer;
ALTER TABLE events ADD COLUMN of_next jsonb NOT NULL DEFAULT '{}';
ALTER TABLE audit_log ADD COLUMN of_next text;
CREATE TABLE of_next (id text PRIMARY KEY, run_id text REFERENCES runs);
CREATE INDEX runs_of_next ON runs (of_next);
"""
PREPARED = 8
"""Requests after which PostgreSQL keeps a statement's plan, whose columns a migration must not change."""


def test_a_gateway_serves_beside_newer_tables_and_a_new_process_of_its_release_is_refused(
    gateway: Gateway, hone: Client, base: str, postgres: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = hone.create_run(seed.spec(base))
    assert [used(hone, run.id) for _ in range(PREPARED)] == [2] * PREPARED
    kept = schema.migration
    with monkeypatch.context() as next_release:
        next_release.setattr(schema, "VERSION", NEXT)
        next_release.setattr(schema, "migration", lambda number: MIGRATION if number == NEXT else kept(number))
        assert schema.ensure(postgres.owner_url).now == NEXT
    assert [used(hone, run.id) for _ in range(PREPARED)] == [2] * PREPARED
    other = hone.create_run({**seed.spec(base), "name": "made by the older release"})
    with psycopg.connect(postgres.owner_url) as owner:
        assert owner.execute("SELECT of_next FROM runs WHERE id = %s", (other.id,)).fetchone() == ("new",)
    assert "ERROR" not in gateway.log.read_text()

    settings = {"HONE_GATEWAY_DATABASE_URL": postgres.gateway_url, "HONE_OBJECTS_URL": f"file://{tmp_path}/objects"}
    again = subprocess.run([sys.executable, "-m", "services.gateway"], env={**os.environ, **settings}, check=False,
                           capture_output=True, text=True, timeout=120)
    assert again.returncode == 1
    assert f"tables of version {NEXT}, this release knows versions up to {schema.VERSION}" in again.stderr


def used(hone: Client, run_id: str) -> int:
    """Read a run and write it, and return the number of events that this added."""
    before = hone.events(run_id, limit=500).data
    hone.pause(run_id)
    assert hone.resume(run_id).state == hone.run(run_id).state == "queued"
    assert run_id in {each.id for each in hone.runs().data}
    return len(hone.events(run_id, limit=500).data) - len(before)
