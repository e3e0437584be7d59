"""Both back ends really: the same toy run, looked at from outside while it works, and equal to the oracle's bits."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minio import Minio

from hone.store import objects
from tests.acceptance import backends, invariants, toy
from tests.acceptance.backends import Backend
from tests.acceptance.scene import Scene, open_scene, wait_for

STEPS = 24


@pytest.fixture(scope="module", params=backends.NAMES)
def backend(request: pytest.FixtureRequest) -> Backend:
    return backends.choose(request.param, request.getfixturevalue)


@pytest.fixture(scope="module")
def scene(backend: Backend, shared_directory: Path) -> Iterator[Scene]:
    opened = open_scene(shared_directory / f"backends-{backend.name}", {"sweep_s": 0.5, **backend.settings}, {})
    yield opened
    opened.stack.stop()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write_base(tmp_path_factory.mktemp("base"))


def test_the_run_equals_the_oracle_bit_for_bit_wherever_it_runs(backend: Backend, scene: Scene, base: Path) -> None:
    scene.client.upload_model("base", base)
    spec = toy.spec("toy", "base", STEPS, eval={"prompts": 32, "every": 8})
    run = scene.client.create_run(spec)
    wait_for("a step", lambda: scene.committed(run.id) >= 2, 60)
    look_from_outside(backend, scene, run.id)
    purge_every_queue(backend, scene)
    scene.finished(run.id)
    wait_for("every service to say that it is well", lambda: scene.client.health().ok, 30)
    invariants.check(scene, run.id, STEPS, prompts=16)
    assert scene.weights(run.id)[-1] == oracle_digest(base, spec)


def oracle_digest(base: Path, spec: dict[str, Any]) -> str:
    """Return the digest of the weights that one process makes of the same spec."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_CBWR": "AUTO,STRICT"}
    ended = subprocess.run([sys.executable, "-m", "tests.acceptance.oracle", str(base)], env=environment, text=True,
                           input=json.dumps({**spec, "eval": None}), capture_output=True, timeout=300, check=True)
    return ended.stdout.strip()


def look_from_outside(backend: Backend, scene: Scene, run_id: str) -> None:
    """See with the servers' own eyes that they, and not folders, carry the run; or that the folders do."""
    state = scene.stack.state
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
    wait_for("publish counts that rise", lambda: published(backend) > 0, 30)


def published(backend: Backend) -> int:
    """Return how many messages RabbitMQ says went into the quorum queue of the run."""
    host = backend.servers["virtual_host"]
    queues: Any = backend.servers["rabbitmq"].look(f"queues/{host}")
    (queue,) = [one for one in queues if one["name"] == "rollouts"]
    assert queue["type"] == "quorum"
    return int(queue.get("message_stats", {}).get("publish", 0))


def purge_every_queue(backend: Backend, scene: Scene) -> None:
    """Delete every message at this moment; the rows are still there."""
    if backend.name == "embedded":
        for path in (scene.stack.state / "broker").rglob("*.msg"):
            path.unlink(missing_ok=True)
        return
    host = backend.servers["virtual_host"]
    queues: Any = backend.servers["rabbitmq"].look(f"queues/{host}")
    for queue in queues:
        backend.servers["rabbitmq"].delete(f"queues/{host}/{queue['name']}/contents")


def test_a_wrong_secret_is_refused_so_the_store_is_no_mock(request: pytest.FixtureRequest) -> None:
    servers = backends.choose("servers", request.getfixturevalue)
    objects.connect(servers.servers["s3"].url(servers.bucket)).put("x", b"y")
    with pytest.raises(PermissionError, match="ignature"):
        objects.connect(servers.servers["s3"].url(servers.bucket, secret="not-the-secret")).put("z", b"y")
