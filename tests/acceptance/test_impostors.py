"""Impostors in the place of a service: wrong rewards teach nothing, and an engine with old weights is noticed."""

import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.learning import HELD_OUT, Draw, exported, spec, stock_score
from tests.acceptance.scene import Scene, open_scene

NOISE = 2 * (2 * 0.25 / HELD_OUT) ** 0.5  # two standard deviations between two shares of so many answers

Opener = Callable[..., Scene]


@pytest.fixture
def opener(alone: None, shared_directory: Path, learning_base: Path) -> Iterator[Opener]:  # noqa: ARG001
    """Opens a stack of the test's own, in which a stub takes the place of a service."""
    scenes: list[Scene] = []

    def opened(**commands: list[str]) -> Scene:
        state = shared_directory / f"learning-{secrets.token_hex(4)}"
        scenes.append(open_scene(state, {"sweep_s": 0.5}, {}, commands))
        scenes[-1].client.upload_model("learning-base", learning_base)
        return scenes[-1]

    yield opened
    for scene in scenes:
        scene.stack.stop()


def test_shuffled_rewards_teach_nothing(
    opener: Opener, drawn: Draw, before: dict[str, float], tmp_path: Path,
) -> None:
    scene = opener(reward=[sys.executable, "-m", "tests.acceptance.stubs.shuffled_reward"])
    run = scene.client.create_run(spec(drawn, eval=None))
    scene.finished(run.id)
    after = stock_score(exported(scene, run.id, tmp_path / "out"), drawn)
    print(f"shuffled rewards: {before} -> {after}")
    assert after["sampled"] <= before["sampled"] + 0.05 + NOISE


def test_an_engine_that_keeps_old_weights_raises_the_gap_alarm(opener: Opener, drawn: Draw) -> None:
    scene = opener(inference=[sys.executable, "-m", "tests.acceptance.stubs.stale_engine"])
    run = scene.client.create_run(spec(drawn, eval=None, steps=25))
    scene.finished(run.id)
    alarms = [event for event in scene.client.events(run.id).data if event.kind == "alarm"]
    assert alarms
    assert "gap" in alarms[0].message
    assert scene.client.metrics(run.id).series["gap/mean"][0][1] < 1e-4, "the first step still samples its own weights"
