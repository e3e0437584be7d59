"""Promise 1: kill any process at any named point or random moment, or freeze it past its lease, and nothing is lost.

One undisturbed run gives the weights; the disturbed one, same spec and seed, must end with the same bits.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance import backends, invariants, toy
from tests.acceptance.backends import Backend
from tests.acceptance.havoc import Havoc, points
from tests.acceptance.scene import Scene, open_scene

STEPS, PROMPTS, LEASE_S = 420, 8, 2.0
COUNTS = {"driver": 2, "trainer": 2, "rollout": 2}
SEED = 20260
GRACE_S = 15.0
RANDOM_KILLS = 20


@pytest.fixture(scope="module", params=backends.NAMES)
def backend(request: pytest.FixtureRequest) -> Backend:
    return backends.choose(request.param, request.getfixturevalue)


@pytest.fixture(scope="module")
def scene(backend: Backend, shared_directory: Path) -> Iterator[Scene]:
    state = shared_directory / f"kills-{backend.name}"
    settings = {"lease_s": LEASE_S, "sweep_s": 0.5, "orphan_grace_s": GRACE_S,
                "sinks": f"tensorboard://{state}/tensorboard"}
    opened = open_scene(state, {**settings, **backend.settings}, COUNTS)
    yield opened
    opened.stack.stop()


def strike_servers(backend: Backend, havoc: Havoc) -> None:
    """Kill the servers that are not the stack's own; the embedded PostgreSQL is among the random victims."""
    if backend.name == "embedded":
        havoc.kill("postgres")
        return
    postgres = backend.servers["postgres"]
    havoc.strike("postgres server", lambda: (postgres.kill(), postgres.start()))
    havoc.strike("rabbitmq server", backend.servers["rabbitmq"].restart)
    havoc.strike("s3 server", backend.servers["s3"].restart)


@pytest.mark.timeout(1500)
def test_nothing_is_lost_and_the_weights_are_equal_bit_for_bit(
    backend: Backend, scene: Scene, tmp_path: Path
) -> None:
    scene.client.upload_model("base", toy.write_base(tmp_path / "base"))
    spec = toy.spec("undisturbed", "base", STEPS, batch={"prompts": PROMPTS, "samples": 4}, keep_versions=2)
    undisturbed = scene.client.create_run(spec)
    scene.finished(undisturbed.id)
    disturbed = scene.client.create_run({**spec, "name": "disturbed"})
    havoc = Havoc(scene, disturbed.id, STEPS, LEASE_S)
    for kind, point in points():
        havoc.crash_at(kind, point)
    for kind in ("driver", "trainer", "rollout"):
        havoc.freeze(kind)
    strike_servers(backend, havoc)
    victims = havoc.random_kills(SEED, RANDOM_KILLS)
    scene.finished(disturbed.id)
    print(f"\nkilled at random with seed {SEED}: {', '.join(victims)}")
    print(f"seconds to the next steps on {backend.name}: {json.dumps(havoc.summary())}")
    invariants.check(scene, undisturbed.id, STEPS, PROMPTS)
    invariants.check(scene, disturbed.id, STEPS, PROMPTS)
    assert scene.weights(disturbed.id) == scene.weights(undisturbed.id)
    invariants.check_store(scene, 3 * GRACE_S)
    for run in (undisturbed, disturbed):
        invariants.check_sink(scene, scene.stack.state / "tensorboard", run.id)
