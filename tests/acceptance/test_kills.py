"""Promise 1: kill any process at any named point or random moment, or freeze it past its lease, and nothing is lost.

The oracle gives the weights of an undisturbed run. A disturbed run of the same spec must have the same bits.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance import invariants, oracle, toy
from tests.acceptance.havoc import Havoc, points
from tests.acceptance.scene import Scene
from tests.acceptance.stacks import GRACE_S, LEASE_S

PROMPTS, STEPS, SOAK_STEPS = 8, 80, 320
SEED, SOAK_SEEDS, SOAK_KILLS = 20260, (20261, 20262, 20263), 30


@dataclass(frozen=True)
class Blows:
    """The crash points at which processes are killed on a back end, and the kinds of which one is frozen."""

    points: slice
    frozen: Sequence[str]


BLOWS = {"embedded": Blows(slice(0, None, 2), ["driver", "trainer"]), "servers": Blows(slice(1, None, 2), ["rollout"])}
"""Every blow is struck on one back end, since tests take time; kills at random moments hit both in `make soak`."""


@contextmanager
def disturbed(scene: Scene, base: Path, steps: int) -> Iterator[Havoc]:
    """Start a run and yield its Havoc; at the end of the block, check that the run lost nothing."""
    scene.client.upload_model(f"kills-base-{steps}", base)
    spec = toy.spec("disturbed", f"kills-base-{steps}", steps, keep_versions=2, eval=None,
                    batch={"prompts": PROMPTS, "samples": 4})
    run = scene.client.create_run(spec)
    havoc = Havoc(scene, run.id, steps, LEASE_S)
    yield havoc
    print(f"step {scene.committed(run.id)} of {steps} after the last blow")
    scene.finished(run.id)
    print(f"seconds to the next steps on {scene.backend.name}: {json.dumps(havoc.summary())}")
    invariants.check(scene, run.id, steps, PROMPTS)
    assert scene.weights(run.id) == oracle.digests(base, spec)
    invariants.check_store(scene, 3 * GRACE_S)
    invariants.check_sink(scene, scene.stack.state / "tensorboard", run.id)


def strike_servers(scene: Scene, havoc: Havoc) -> None:
    """Kill the servers, which are not among the random victims unless they are the stack's own."""
    if scene.backend.name == "embedded":
        havoc.kill("postgres")
        return
    postgres = scene.backend.servers["postgres"]
    havoc.strike("postgres server", lambda: (postgres.kill(), postgres.start()))
    havoc.strike("rabbitmq server", scene.backend.servers["rabbitmq"].restart)
    havoc.strike("s3 server", scene.backend.servers["s3"].restart)


@pytest.mark.timeout(900)
def test_nothing_is_lost_and_the_weights_are_equal_bit_for_bit(twins: Scene, bases: Callable[..., Path]) -> None:
    with disturbed(twins, bases(), STEPS) as havoc:
        for kind, point in points()[BLOWS[twins.backend.name].points]:
            havoc.crash_at(kind, point)
        for kind in BLOWS[twins.backend.name].frozen:
            havoc.freeze(kind)
        strike_servers(twins, havoc)
        print(f"\nkilled at random with seed {SEED}: {havoc.random_kills(SEED, 1)}")


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_many_random_kills_lose_nothing(twins: Scene, bases: Callable[..., Path], seed: int) -> None:
    with disturbed(twins, bases(), SOAK_STEPS) as havoc:
        victims = havoc.random_kills(seed, SOAK_KILLS)
        print(f"\nkilled at random with seed {seed}: {', '.join(victims)}")
