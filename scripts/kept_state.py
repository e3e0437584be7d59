"""Makes the archive from which tests/acceptance/test_upgrade.py restores the state of an earlier release.

    git worktree add /tmp/release v0.1.0
    cd /tmp/release && PYTHONPATH=$PWD/libs:$PWD python REPOSITORY/scripts/kept_state.py NNN.tar.xz

The code of that release starts a stack and trains three tiny runs: the first ends, the second is paused, and the third
is running, in the middle of a step, when the backup is made. The archive holds the backup, and `expected.json`: the
runs' ids and specs, and the gateway's answers about the run that ended. NNN is the version of the tables.
"""

import json
import signal
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from hone.models import toy as models
from hone.stack import backup, embedded
from hone.text.tokenizer import Tokenizer
from services.learner.trainer.learner import Learner
from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene, wait_for

TASK = {"environment": "sort_digits", "params": {"digits": 2}}
SIZES: dict[str, Any] = {"hidden": 32, "layers": 1, "heads": 2, "head_dim": 16, "ffn": 64}
TAUGHT = 60
READ = ("", "/metrics", "/events", "/trajectories")
"""Below /v1/runs/ID: the answers that are kept."""
_CALM_S, _TRIES = 2.0, 20
_WAITING = "SELECT DISTINCT state FROM groups WHERE run_id = %s AND state IN ('requested', 'ready')"


def base(directory: Path) -> Path:
    """Write a model of 45 kB that answers some of the tasks."""
    files = models.files(0, **SIZES)
    teacher = toy.Teacher(Tokenizer({name: data for name, data in files.items() if name.endswith(".json")}), 0, 2, 0.3)
    learner = Learner.create(files, {"lr": 3e-3}, token_budget=65536)
    for n in range(1, TAUGHT + 1):
        learner.forward_backward(toy.supervised_plan(n), teacher.demonstrations(64 * (n - 1), 64))
        learner.optim_step(3e-3, 1.0)
    directory.mkdir()
    for name, data in {**files, "model.safetensors": learner.weights()}.items():
        (directory / name).write_bytes(data)
    return directory


def spec(name: str, steps: int) -> dict[str, Any]:
    """Return a run's spec. A snapshot after each step: what follows depends on no bit of this machine."""
    return toy.spec(name, "base", steps, task=TASK, batch={"prompts": 4, "samples": 4}, sampling={"max_tokens": 4},
                    snapshot_every=1, optimizer={"lr": 2e-3}, eval={"prompts": 4, "every": 1000})


def pause(scene: Scene, run_id: str, after: int) -> None:
    """Pause a run after some steps, and return once nothing moves any more."""
    wait_for("some steps", lambda: scene.committed(run_id) >= after, 120, 0.01)
    scene.client.pause(run_id)
    wait_for("the pause", lambda: scene.client.run(run_id).state == "paused", 60)
    time.sleep(_CALM_S)


def interrupt(scene: Scene, run_id: str) -> None:
    """Have a paused run go on until it waits for samples that no worker makes. Raises Late if it never does."""
    for _ in range(_TRIES):
        scene.stack.kill("rollout-0", signal.SIGSTOP)
        scene.client.resume(run_id)
        time.sleep(_CALM_S)
        if [row["state"] for row in scene.rows(_WAITING, run_id)] == ["requested"]:
            return
        scene.stack.kill("rollout-0", signal.SIGCONT)
        pause(scene, run_id, 1)
    raise SystemExit("the run never waited for samples alone: try again")


def kept(scene: Scene, folder: Path) -> dict[str, Any]:
    """Train the three runs, make the backup, and return the content of expected.json."""
    specs = {"finished": spec("finished", 2), "paused": spec("paused", 4), "running": spec("running", 6)}
    ids = {"finished": scene.client.create_run(specs["finished"]).id}
    scene.finished(ids["finished"])
    for name in ("paused", "running"):
        ids[name] = scene.client.create_run(specs[name]).id
        pause(scene, ids[name], 1)
    interrupt(scene, ids["running"])
    record = scene.stack.record()
    with httpx.Client(base_url=record.gateway_url, headers={"Authorization": f"Bearer {record.api_key}"}) as http:
        paths = [f"/v1/runs/{ids['finished']}{part}" for part in READ]
        answers = {path: http.get(path).raise_for_status().json() for path in paths}
    backup.save(embedded.owner_url(scene.stack.state), record.objects_url, folder)
    states = {name: scene.client.run(run_id).state for name, run_id in ids.items()}
    return {"ids": ids, "specs": specs, "states": states, "committed": scene.committed(ids["running"]),
            "answers": answers}


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kept-") as place:
        Path(place).chmod(0o711)
        folder = Path(place) / "kept"
        scene = open_scene(Path(place) / "state", {"lease_s": 2.0}, {})
        try:
            scene.client.upload_model("base", base(Path(place) / "base"))
            expected = kept(scene, folder)
            scene.stack.kill("rollout-0", signal.SIGCONT)
        finally:
            scene.stack.stop()
        (folder / "expected.json").write_text(json.dumps(expected, indent=1))
        with tarfile.open(archive, "w:xz", preset=9) as packed:
            packed.add(folder, ".")
    print({name: expected[name] for name in ("ids", "states", "committed")}, sorted(expected["answers"]))
    print(f"{archive}: {archive.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
