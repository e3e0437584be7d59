"""One backup of a database at a time, with PostgreSQL's own locks."""

import time
from pathlib import Path

import pytest

from hone.stack import backup
from hone.store.database import Database


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
