"""Engines come and go under load: one that registers itself is used, and others answer its requests when it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hone.stack import ports
from tests.acceptance import invariants, oracle, toy
from tests.acceptance.scene import Scene, wait_for

STEPS, PROMPTS = 100, 16


@pytest.fixture
def scene(plain: Scene, bases: Callable[..., Path]) -> Scene:
    plain.client.upload_model("engines-base", bases())
    return plain


def started(scene: Scene, name: str) -> subprocess.Popen[bytes]:
    """Start an engine by hand, with the environment of the stack's own."""
    pid = scene.stack.pids()["inference-0"]
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    environment |= {"HONE_PROCESS_NAME": name, "HONE_INFERENCE_ADDRESS": f"127.0.0.1:{ports.pick(1)[0]}"}
    return subprocess.Popen([sys.executable, "-m", "services.inference"], env=environment, cwd=os.getcwd(),
                            stderr=subprocess.DEVNULL)


def answered(scene: Scene, name: str) -> int:
    """Return how many samples the guest has generated since it registered."""
    rows = scene.rows("SELECT m.generated_samples FROM engine_models m WHERE m.engine_id = %s", name)
    return sum(row["generated_samples"] for row in rows)


def registered(scene: Scene) -> set[str]:
    """Return the names of all engines."""
    return {row["id"] for row in scene.rows("SELECT id FROM engines")}


def end_at_work(scene: Scene, name: str, guest: subprocess.Popen[bytes], number: int) -> None:
    """Wait until the guest has generated some samples, then end it while it generates others."""
    wait_for(f"{name} to be used", lambda: answered(scene, name) > 4 * PROMPTS, 120)
    guest.send_signal(number)
    guest.wait(120)


def test_guests_take_part_and_go_without_losing_a_request(scene: Scene, bases: Callable[..., Path]) -> None:
    spec = toy.spec("visited", "engines-base", STEPS, eval=None)
    signals = {"polite": signal.SIGTERM, "killed": signal.SIGKILL}
    guests = {name: started(scene, name) for name in signals}
    try:
        wait_for("both guests", lambda: registered(scene) >= guests.keys(), 120)
        run = scene.client.create_run(spec)
        for name, guest in guests.items():
            end_at_work(scene, name, guest, signals[name])
        assert scene.committed(run.id) < STEPS - 2, "they went while there was work"
    finally:
        for guest in guests.values():
            guest.kill()
    scene.finished(run.id)
    invariants.check(scene, run.id, STEPS, PROMPTS)
    assert scene.one("SELECT max(attempt) FROM groups WHERE run_id = %s", run.id) == 1, "no group was given up"
    assert scene.weights(run.id) == oracle.digests(bases(), spec)
