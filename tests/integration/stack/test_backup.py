"""Backups and PostgreSQL's own locks; a backup of an earlier release in a database of this one."""

import secrets
import tarfile
import time
from pathlib import Path

import psycopg
import pytest

from hone.stack import backup
from hone.store import schema
from hone.store.database import Database
from tests.integration.store import catalog
from tests.servers.postgres import Server

ARCHIVES = sorted((Path(__file__).parents[2] / "acceptance" / "kept").glob("*.tar.xz"))
"""Backups of earlier releases: tests/acceptance/test_upgrade.py."""


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
    until = time.monotonic() + 120
    while not (worker.one("backups.lets_delete") or {})["free"]:  # the server notices a moment later
        assert time.monotonic() < until
    worker.close()
    assert backup.save(postgres_owner_url, objects_url, tmp_path / "copy").objects == 0


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name)
def test_a_backup_of_an_earlier_release_gets_the_tables_of_a_new_database(
    postgres_server: Server, tmp_path: Path, archive: Path,
) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    url = postgres_server.empty(f"hone_{secrets.token_hex(6)}")
    schema.ensure(url)
    fresh = catalog.read(url)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE of_somebody_else (id text)")
    assert f"{backup.restore(url, f'file://{tmp_path}/store', tmp_path).schema}.tar.xz" == archive.name
    with psycopg.connect(url) as connection:
        states = connection.execute("SELECT state FROM runs ORDER BY name").fetchall()
        assert states == [("succeeded",), ("paused",), ("running",)]
        connection.execute("DROP TABLE of_somebody_else")
    assert catalog.read(url) == fresh
