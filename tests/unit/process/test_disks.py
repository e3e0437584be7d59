"""What is said about disks, and which directories are meant."""

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from hone.process import disks
from hone.process.disks import Disk
from hone.spec.settings import Settings
from hone.stack import postgres

GIB = 2**30


@pytest.mark.parametrize(("free", "said"), [
    (3 * GIB, None), (GIB, "only 1.0 GiB left in /d"), (2**26 - 1, "no space left in /d"), (0, "no space left in /d"),
])
def test_a_disk_is_low_before_it_is_full(free: int, said: str | None) -> None:
    disk = Disk(Path("/d"), free)
    assert (disk.shortage(2 * GIB), disk.full) == (said, free < 2**26)


def test_each_disk_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/hone-scratch-of-a-process")
    settings = Settings(objects_url=f"file://{tmp_path}/objects", broker_url=f"filesystem://{tmp_path}/broker",
                        state=tmp_path)
    places = disks.written(settings)
    assert places == [tmp_path, tmp_path / "objects", tmp_path / "broker", Path("/tmp")]
    assert len(disks.look([tmp_path, tmp_path / "absent" / "folder"])) == 1
    assert disks.written(Settings(objects_url="s3://k:s@h:1/b")) == [Path("/tmp")]


def test_a_server_starts_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    left = iter([0, 2**20, 2**30])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=next(left)))
    postgres.await_room(tmp_path, pause_s=0)
    assert capsys.readouterr().out.splitlines() == [
        f"no space left in {tmp_path}: PostgreSQL starts once there are 64 MiB"]
    assert next(left, None) is None
