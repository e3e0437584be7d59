"""Backups: what is copied, what begins again, and what is no backup."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from hone.stack import backup
from hone.store import schema
from hone.store.objects.directory import Directory

URL = "postgresql://owner@host/hone"


@pytest.fixture
def source(tmp_path: Path) -> Directory:
    store = Directory(tmp_path / "source")
    for key in ("runs/r/parts/a", "models/m/versions/b", "orphan", "sweeps/me"):
        store.put(key, key.encode())
    return store


def dumps(monkeypatch: pytest.MonkeyPatch, *named: list[str]) -> None:
    """Have each dump name the next of these keys, the last ones from then on."""
    left: Iterator[list[str]] = iter(named)
    known = [named[-1]]

    def dumped(_: str, file: Path) -> list[str]:
        file.write_bytes(b"dump")
        return next(left, known[0])

    monkeypatch.setattr(backup, "_dumped", dumped)
    monkeypatch.setattr(backup, "deletions_held_off", lambda _: nullcontext())
    monkeypatch.setattr(backup, "_expect_current", lambda _: None)


def save(tmp_path: Path) -> backup.Label:
    return backup.save(URL, f"file://{tmp_path}/source", tmp_path / "copy")


@pytest.mark.usefixtures("source")
def test_what_rows_name_is_copied_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps(monkeypatch, ["runs/r/parts/a", "models/m/versions/b"], ["runs/r/parts/a"])
    assert save(tmp_path).objects == 2
    copies = Directory(tmp_path / "copy" / "objects")
    assert list(copies.list("")) == ["models/m/versions/b", "runs/r/parts/a", "sweeps/me"]
    assert backup.read(tmp_path / "copy").schema == schema.VERSION
    assert save(tmp_path).objects == 1
    assert list(copies.list("")) == ["runs/r/parts/a", "sweeps/me"], "a renewed backup forgets what no row names"


@pytest.mark.usefixtures("source")
def test_an_object_that_went_away_makes_it_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps(monkeypatch, ["runs/r/parts/a", "gone"], ["runs/r/parts/a"])
    assert save(tmp_path).objects == 1


@pytest.mark.usefixtures("source")
def test_objects_that_always_go_away_leave_no_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps(monkeypatch, ["gone"])
    with pytest.raises(backup.Moving, match="pause the runs"):
        save(tmp_path)
    with pytest.raises(backup.NoBackup, match="no complete backup"):
        backup.read(tmp_path / "copy")


@pytest.mark.parametrize("version", [1, schema.VERSION + 1])
def test_a_backup_of_other_tables_is_refused(tmp_path: Path, version: int) -> None:
    (tmp_path / "backup.json").write_text(json.dumps({"made_at": "now", "schema": version, "objects": 0}))
    with pytest.raises(backup.NoBackup, match=f"tables of version {version}, .* 27 to {schema.VERSION}"):
        backup.read(tmp_path)
