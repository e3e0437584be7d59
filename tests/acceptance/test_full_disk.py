"""A full disk: the stack says so, keeps trying, and comes back by itself, twice, with the same weights."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from hone.client import errors
from hone.stack import postgres
from hone.store.objects.directory import RESERVE_BYTES
from tests.acceptance.scene import Scene, open_scene, wait_for
from tests.servers import disk as disks

DISK_BYTES = 640 * 2**20
LEFT_BYTES = RESERVE_BYTES // 2
SPEC: dict[str, Any] = {
    "name": "disk", "steps": 40, "sampling": {"max_tokens": 8}, "optimizer": {"lr": 1e-3}, "eval": None,
    "task": {"environment": "sort_digits", "params": {"digits": 4}}, "batch": {"prompts": 4, "samples": 4}}


def status(scene: Scene) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["hone", "status", "--state", scene.stack.state], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})


def waits(scene: Scene, run_id: str) -> str:
    return scene.client.run(run_id).waiting_for or ""


@pytest.mark.soak
@pytest.mark.usefixtures("alone")
def test_a_run_outlives_a_full_disk_twice() -> None:
    with disks.mounted(DISK_BYTES) as disk:
        _tried(disk)


def _tried(disk: Path) -> None:
    scene = open_scene(disk / "state", {
        "lease_s": 2.0, "sweep_s": 0.1, "disk_low_gb": 0.25, "orphan_grace_s": 10.0}, {})
    assert postgres.home(scene.stack.state).is_relative_to(disk), "the database is on the small disk"
    try:
        runs = _outlive(scene, disk)
        _make_room(scene, runs)
    finally:
        scene.stack.stop()


def _outlive(scene: Scene, disk: Path) -> list[str]:
    subprocess.run(["hone", "models", "make-toy", "toy"], check=True, capture_output=True, env={
        **os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HONE_STATE": str(scene.stack.state)})
    spec = {**SPEC, "model": {"base": "toy"}}
    plain = scene.client.create_run(spec)
    scene.finished(plain.id)
    disks.fill(disk, 200 * 2**20)
    assert f"only 0.2 GiB left in {disk}" in status(scene).stdout
    (reported,) = [one for one in scene.client.health().services if one.name.startswith(f"disk {disk}")]
    assert (reported.ok, reported.detail) == (True, f"only 0.2 GiB left in {disk / 'state'}")

    run = scene.client.create_run({**spec, "name": "disk full"}).id
    wait_for("two steps", lambda: scene.committed(run) >= 2, 60)
    words = f"no space left in {disk / 'state'}"
    disks.fill(disk, LEFT_BYTES)
    wait_for(f"{words!r}", lambda: words in waits(scene, run), 60)
    stopped = scene.committed(run)
    found = status(scene)
    assert (found.returncode, words in found.stdout) == (1, True), found.stdout
    (reported,) = [one for one in scene.client.health().services if one.name.startswith(f"disk {disk}")]
    assert (reported.ok, reported.detail) == (False, words)
    with pytest.raises(errors.Full, match=words):
        scene.client.upload_dataset("more", b'{"prompt": "a", "answer": "b"}\n')
    disks.make_room(disk)
    wait_for("another step", lambda: scene.committed(run) > stopped, 60)

    disks.fill(disk, 0)
    wait_for("the words", lambda: words in status(scene).stdout, 60)
    _answers_with(scene, words)
    disks.make_room(disk)
    assert scene.finished(run, 120).state == "succeeded"
    assert scene.weights(run) == scene.weights(plain.id)
    wait_for("health", lambda: scene.client.health().ok, 60)
    return [plain.id, run]


def _make_room(scene: Scene, runs: list[str]) -> None:
    """Delete the runs. A driver that is killed between rows and objects leaves nothing behind."""
    models = [scene.client.run(run).model_id for run in runs]
    folders = [scene.stack.state / "objects" / kind / name for kind, names in (("runs", runs), ("models", models))
               for name in names]
    assert all(any(path.is_file() for path in folder.rglob("*")) for folder in folders)
    (scene.crash_dir / "deletion.rows-objects").write_text("")
    for run in runs:
        scene.client.delete_run(run)
    assert scene.client.runs().data == []
    wait_for("the deletions", lambda: {one.state for one in scene.client.deletions().data} == {"deleted"}, 60)
    assert scene.hit("deletion.rows-objects"), "a driver was killed"
    wait_for("the end of the objects", lambda: not any(
        path.is_file() for folder in folders for path in folder.rglob("*")), 60)
    assert scene.one("SELECT count(*) FROM versions WHERE model_id = ANY (%s)", models) == 0


def _answers_with(scene: Scene, words: str) -> None:
    """The gateway answers, and where it cannot because the database is away, its refusal has the words."""
    record = scene.stack.record()
    for _ in range(20):
        answer = httpx.get(f"{record.gateway_url}/v1/health", timeout=120,
                           headers={"Authorization": f"Bearer {record.api_key}"})
        assert answer.status_code in (200, 503, 507), answer.text
        assert words in answer.text or "The database's disk is full" in answer.text
