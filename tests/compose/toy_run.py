"""Train the toy run through a deployment's gateway: `python -m tests.compose.toy_run URL KEY`."""

import sys
import tempfile
from pathlib import Path

from hone.client import Client
from tests.acceptance import toy
from tests.acceptance.scene import wait_for
from tests.acceptance.test_backends import oracle_digest

STEPS = 24


def train(client: Client, base: Path) -> str:
    """Train the toy run to its end and return the digest of its last weights."""
    spec = toy.spec("toy", "base", STEPS, eval={"prompts": 32, "every": 8})
    client.upload_model("base", base)
    run = client.create_run(spec)
    wait_for("the end of the run", lambda: client.run(run.id).state in ("succeeded", "failed", "cancelled"), 600)
    ended = client.run(run.id)
    assert ended.state == "succeeded", ended.reason
    series = client.metrics(run.id).series
    assert len(series["loss"]) == STEPS
    newest = client.checkpoints(run.id, limit=1).data[0]
    assert newest.number == STEPS
    return str(newest.weights_sha256)


def main(url: str, key: str) -> None:
    """Train, ask every service how it is, and compare the weights with those of one process without any service."""
    with Client(url, key, timeout_s=60) as client, tempfile.TemporaryDirectory() as folder:
        base = toy.write_base(Path(folder))
        digest = train(client, base)
        wait_for("every service to say that it is well", lambda: client.health().ok, 60)
        names = sorted(service.name for service in client.health().services)
        print(f"trained {STEPS} steps; well: {', '.join(names)}")
        assert sum(name.startswith("rollout ") for name in names) == 2
        spec = toy.spec("toy", "base", STEPS, eval={"prompts": 32, "every": 8})
        same = digest == oracle_digest(base, spec)
        print(f"weights {digest[:16]}…: {'equal to' if same else 'other than'} the oracle's")
        assert same


if __name__ == "__main__":
    main(*sys.argv[1:])
