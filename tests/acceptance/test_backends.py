"""The toy run on both back ends: outside observers see it use them, and its weights are the oracle's, bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from minio import Minio

from hone.store import objects
from tests.acceptance import invariants, oracle, toy
from tests.acceptance.backends import Backend
from tests.acceptance.scene import Scene, wait_for

STEPS = 24


def test_the_run_equals_the_oracle_bit_for_bit_on_each_back_end(twins: Scene, bases: Callable[..., Path]) -> None:
    scene = twins
    scene.client.upload_model("backends-base", bases())
    spec = toy.spec("toy", "backends-base", STEPS, eval={"prompts": 32, "every": 8})
    run = scene.client.create_run(spec)
    wait_for("a step", lambda: scene.committed(run.id) >= 2, 60)
    look_from_outside(scene, run.id)
    purge_every_queue(scene)
    scene.finished(run.id)
    wait_for("every service to say that it is well", lambda: scene.client.health().ok, 120)
    invariants.check(scene, run.id, STEPS, prompts=16)
    assert scene.weights(run.id) == oracle.digests(bases(), spec)


def look_from_outside(scene: Scene, run_id: str) -> None:
    """Ask the servers, or look into the embedded stack's folders: they carry the run."""
    state, backend = scene.stack.state, scene.backend
    stored = [path for path in (state / "objects").rglob("*.parquet") if run_id in str(path)]
    if backend.name == "embedded":
        assert stored, "the embedded object store holds this run's parts"
        return
    assert list((state / "objects").rglob("*")) == []
    assert list((state / "broker").rglob("*")) == []
    assert not (state / "postgres").exists() or list((state / "postgres").rglob("PG_VERSION")) == []
    s3 = backend.servers["s3"]
    client = Minio(s3.endpoint, s3.access_key, s3.secret_key, secure=False)
    names = [one.object_name or "" for one in client.list_objects(backend.bucket, f"runs/{run_id}/", recursive=True)]
    assert any(name.endswith(".parquet") for name in names)
    wait_for("publish counts that rise", lambda: published(backend) > 0, 120)


def published(backend: Backend) -> int:
    """Return how many messages were published to the queue of rollouts, by RabbitMQ's own count."""
    host = backend.servers["virtual_host"]
    queues: Any = backend.servers["rabbitmq"].look(f"queues/{host}")
    (queue,) = [one for one in queues if one["name"] == "rollouts"]
    assert queue["type"] == "quorum"
    return int(queue.get("message_stats", {}).get("publish", 0))


def purge_every_queue(scene: Scene) -> None:
    """Delete every message; the rows stay."""
    backend = scene.backend
    if backend.name == "embedded":
        for path in (scene.stack.state / "broker").rglob("*.msg"):
            path.unlink(missing_ok=True)
        return
    host = backend.servers["virtual_host"]
    queues: Any = backend.servers["rabbitmq"].look(f"queues/{host}")
    for queue in queues:
        backend.servers["rabbitmq"].delete(f"queues/{host}/{queue['name']}/contents")


@pytest.mark.parametrize("twins", ["servers"], indirect=True)
def test_a_wrong_secret_is_refused(twins: Scene) -> None:
    s3, bucket = twins.backend.servers["s3"], twins.backend.bucket
    objects.connect(s3.url(bucket)).put("x", b"y")
    with pytest.raises(PermissionError, match="ignature"):
        objects.connect(s3.url(bucket, secret="not-the-secret")).put("z", b"y")
