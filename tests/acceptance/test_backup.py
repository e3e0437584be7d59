"""A backup of a stack that trains: everything is wiped, the backup is brought back, and the run goes on."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hone.client import Client
from hone.stack import backup, embedded
from tests.acceptance import oracle, toy
from tests.acceptance.scene import Scene, open_scene, wait_for

STEPS = 24
COUNTS = {"value": 1, "simulation": 1}


def hone(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from hone.cli.main import app; app()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)


@pytest.mark.usefixtures("alone")
def test_a_run_goes_on_from_a_backup_and_ends_with_the_oracles_weights(
    bases: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backup, "_TRIES", 1)
    spec = toy.spec("toy", "base", STEPS, eval={"prompts": 32, "every": 8})
    folder, first = tmp_path / "backup", tmp_path / "first"
    scene = open_scene(first, {"lease_s": 2.0}, COUNTS)
    try:
        key = scene.stack.record().api_key
        run_id = begun(scene, bases(), spec)
        live = backup.save(embedded.owner_url(first), scene.stack.record().objects_url, tmp_path / "live")
        assert live.objects > 0, "steps go on meanwhile, and delete nothing that it names"
        scene.stack.kill("driver-0")  # so that the run does not end while the stack stops
    finally:
        scene.stack.stop()
    made = hone("backup", str(folder), "--state", str(first))
    assert made.returncode == 0, made.stderr
    made_at = json.loads((folder / "backup.json").read_text())["made_at"]
    shutil.rmtree(first)

    back = hone("restore", str(folder), "--state", str(tmp_path / "second"))
    assert back.returncode == 0, back.stderr
    twice = hone("restore", str(folder), "--state", str(tmp_path / "second"))
    assert (twice.returncode, "restore into a new database" in twice.stderr) == (1, True), twice.stderr
    scene = open_scene(tmp_path / "second", {"lease_s": 2.0}, COUNTS)
    try:
        scene.client = Client(scene.stack.record().gateway_url, key)  # keys are in the backup
        scene.finished(run_id)
        assert scene.one("SELECT count(*) FROM steps WHERE committed_at > %s", made_at) > 0
        assert scene.weights(run_id) == oracle.digests(bases(), spec)
    finally:
        scene.stack.stop()


def begun(scene: Scene, base: Path, spec: dict[str, object]) -> str:
    """Start the run, and return its id once it has committed some steps."""
    scene.client.upload_model("base", base)
    run = scene.client.create_run(spec)
    wait_for("a few steps", lambda: scene.committed(run.id) >= 3, 60)
    return run.id
