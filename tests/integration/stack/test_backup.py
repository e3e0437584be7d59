"""Backups and PostgreSQL's own locks; a backup of an older release in a database of this one."""

import json
import secrets
import time
from pathlib import Path

import psycopg
import pytest

from hone.stack import backup
from hone.store import schema
from hone.store.database import Database
from tests.integration.store import catalog
from tests.servers.postgres import Server


def test_a_second_backup_at_the_same_time_says_why_it_ends(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_ONE_AT_A_TIME", "-c lock_timeout=100ms")
    objects_url = f"file://{tmp_path}/objects"
    worker = Database(postgres_url, size=1)
    with backup.deletions_held_off(postgres_owner_url):
        assert not (worker.one("backups.lets_delete") or {})["free"]
        with pytest.raises(backup.Moving, match="another backup of this database is being made"):
            backup.save(postgres_owner_url, objects_url, tmp_path / "copy")
    until = time.monotonic() + 20
    while not (worker.one("backups.lets_delete") or {})["free"]:  # the server notices a moment later
        assert time.monotonic() < until
    worker.close()
    assert backup.save(postgres_owner_url, objects_url, tmp_path / "copy").objects == 0


def test_a_backup_of_older_tables_is_restored_and_upgraded(postgres_server: Server, tmp_path: Path) -> None:
    older, new = (postgres_server.empty(f"hone_{secrets.token_hex(6)}") for _ in range(2))
    with psycopg.connect(older) as connection:
        connection.execute(schema.baseline().encode())
        connection.execute("INSERT INTO schema_version VALUES (27)")
        connection.execute("INSERT INTO tenants (id, name) VALUES ('a', 'kept')")
    backup._dumped(older, tmp_path / "database.dump")
    (tmp_path / "objects").mkdir()
    (tmp_path / "backup.json").write_text(json.dumps({"made_at": "then", "schema": 27, "objects": 0}))
    schema.ensure(new)
    fresh = catalog.read(new)
    with psycopg.connect(new) as connection:
        connection.execute("CREATE TABLE of_somebody_else (id text)")
    assert backup.restore(new, f"file://{tmp_path}/store", tmp_path).schema == 27
    with psycopg.connect(new) as connection:
        assert connection.execute("SELECT name FROM tenants").fetchall() == [("kept",)]
        connection.execute("DROP TABLE of_somebody_else")
    assert catalog.read(new) == fresh, "the same tables as in a new database"
