"""One run of a billion steps stops nobody: another run trains beside it, and it is cancelled within seconds."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

SOON_S = 30.0


def test_a_run_trains_beside_one_of_a_billion_steps(plain: Scene, bases: Callable[..., Path]) -> None:
    plain.client.upload_model("giants-base", bases())
    pids = plain.stack.pids()
    giant = plain.client.create_run(toy.spec("giant", "giants-base", 10**9, eval={"prompts": 32, "every": 10**9}))
    switched = plain.client.create_run(toy.spec(
        "switched", "giants-base", 2**30 + 2**29, eval=None,
        batch={"samples": 4, "schedule": {"name": "late_switch", "budget": 2**31 - 1,
                                          "params": {"small": 1, "large": 2, "fraction": 0.5}}}))
    normal = plain.client.create_run(toy.spec("normal", "giants-base", 6, eval=None))
    plain.finished(normal.id)
    for run in (giant, switched):
        assert plain.client.run(run.id).state == "running"
        assert plain.client.run(run.id).steps == run.steps
        plain.client.cancel(run.id)
    for run in (giant, switched):
        wait_for("a giant to be cancelled", partial(cancelled, plain, run.id), SOON_S)
    assert plain.stack.pids() == pids


def cancelled(scene: Scene, run_id: str) -> bool:
    return scene.client.run(run_id).state == "cancelled"
