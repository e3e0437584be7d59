"""Train the toy run through a deployment's gateway: `python -m tests.compose.toy_run URL KEY ENGINE`."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hone.client import Client
from tests.acceptance import oracle, toy
from tests.acceptance.scene import wait_for

STEPS = {"native": 24, "vllm": 4}


def train(client: Client, base: Path, spec: dict[str, Any], engine: str) -> str:
    """Train to the end of the run, sampled by that engine, and return the digest of its last weights."""
    client.upload_model(spec["model"]["base"], base)
    run = client.create_run(spec)
    wait_for("the end of the run", lambda: client.run(run.id).state in ("succeeded", "failed", "cancelled"), 600)
    ended = client.run(run.id)
    assert ended.state == "succeeded", ended.reason
    series = client.metrics(run.id).series
    assert len(series["loss"]) == spec["steps"]
    row = client.trajectories(run.id, limit=1).data[0]
    calls = client.trajectory(run.id, row.group_id, row.index).calls
    assert {call["engine"].partition(" ")[0] for call in calls} == {engine}
    newest = client.checkpoints(run.id, limit=1).data[0]
    assert newest.number == spec["steps"]
    return str(newest.weights_sha256)


def main(url: str, key: str, engine: str) -> None:
    """Train, ask every service how it is, and compare what the native engine gave with one process without services."""
    with Client(url, key, timeout_s=60) as client, tempfile.TemporaryDirectory() as folder:
        base = toy.write_base(Path(folder))
        spec = toy.spec("toy", f"base-{engine}", STEPS[engine], eval={"prompts": 32, "every": 8})
        digest = train(client, base, spec, engine)
        wait_for("every service to say that it is well", lambda: client.health().ok, 60)
        names = sorted(service.name for service in client.health().services)
        print(f"trained {STEPS[engine]} steps on {engine}; well: {', '.join(names)}")
        assert sum(name.startswith("rollout ") for name in names) == 2
        if engine == "native":
            same = digest == oracle.digests(base, spec)[-1]
            print(f"weights {digest[:16]}…: {'equal to' if same else 'other than'} the oracle's")
            assert same


if __name__ == "__main__":
    main(*sys.argv[1:])
