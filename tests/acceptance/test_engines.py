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

STEPS, PROMPTS = 300, 16
NAME = "guest"


@pytest.fixture
def scene(plain: Scene, bases: Callable[..., Path]) -> Scene:
    plain.client.upload_model("engines-base", bases())
    return plain


def started(scene: Scene) -> subprocess.Popen[bytes]:
    """Start an engine by hand, with the environment of the stack's own."""
    pid = scene.stack.pids()["inference-0"]
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    environment |= {"HONE_PROCESS_NAME": NAME, "HONE_INFERENCE_ADDRESS": f"127.0.0.1:{ports.pick(1)[0]}"}
    return subprocess.Popen([sys.executable, "-m", "services.inference"], env=environment, cwd=os.getcwd(),
                            stderr=subprocess.DEVNULL)


def answered(scene: Scene) -> int:
    """Return how many samples the guest has generated since it registered."""
    rows = scene.rows("SELECT m.generated_samples FROM engine_models m WHERE m.engine_id = %s", NAME)
    return sum(row["generated_samples"] for row in rows)


def ended(scene: Scene, guest: subprocess.Popen[bytes], number: int) -> None:
    """Wait until the guest has generated some samples, then end it while it generates others."""
    before = answered(scene)
    wait_for("the guest to be used", lambda: answered(scene) > before + 4 * PROMPTS, 60)
    guest.send_signal(number)
    guest.wait(20)


def test_a_guest_takes_part_and_goes_without_losing_a_request(scene: Scene, bases: Callable[..., Path]) -> None:
    spec = toy.spec("visited", "engines-base", STEPS, eval=None)
    run = scene.client.create_run(spec)
    for number in (signal.SIGTERM, signal.SIGKILL):
        guest = started(scene)
        try:
            ended(scene, guest, number)
        finally:
            guest.kill()
        assert scene.committed(run.id) < STEPS - 2, "it went while there was work"
    scene.finished(run.id)
    invariants.check(scene, run.id, STEPS, PROMPTS)
    assert scene.one("SELECT max(attempt) FROM groups WHERE run_id = %s", run.id) == 1, "no group was given up"
    assert scene.weights(run.id) == oracle.digests(bases(), spec)
