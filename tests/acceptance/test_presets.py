"""Every preset that says it runs does, through all services; what a step read of its rewards is what was graded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hone.algorithms.presets import PRESETS, unmet
from hone.client.errors import Refused
from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene

STEPS, DIGITS = 2, 3
PARTS = {"type": "weighted", "parts": {
    "right": {"grader": {"type": "exact"}, "weight": 3.0},
    "even": {"grader": {"type": "character_share", "wanted": "02468", "among": "0123456789"}}}}
RUNNABLE = sorted(name for name in PRESETS if unmet(name) is None and name != "sft")  # that is test_learning's


@pytest.fixture(scope="module")
def scene(shared_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    opened = open_scene(shared_directory / "presets", {"sweep_s": 0.2}, {})
    opened.client.upload_model("base", toy.write_base(
        tmp_path_factory.mktemp("base"), digits=DIGITS, steps=40, careless=0.5, hidden=64))
    yield opened
    opened.stack.stop()


def spec(preset: str) -> dict[str, Any]:
    # The toy may have too few groups to choose among: nothing is filtered.
    return toy.spec(preset, "base", STEPS, **{
        "task": {"environment": "sort_digits", "params": {"digits": DIGITS}}, "grader": PARTS, "eval": None,
        "algorithm": {"preset": preset, "filter": {"name": "none"}}, "batch": {"prompts": 4, "samples": 4},
        "sampling": {"max_tokens": DIGITS + 2}})


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_preset_trains(scene: Scene, name: str) -> None:
    run = scene.client.create_run(spec(name))
    scene.finished(run.id, timeout_s=60)
    assert scene.committed(run.id) == STEPS
    assert len(set(scene.weights(run.id))) == STEPS + 1, "each step moved the weights"


def test_a_step_reads_the_parts_of_a_reward_as_they_were_graded(scene: Scene) -> None:
    run = scene.client.create_run(spec("gdpo"))
    scene.finished(run.id, timeout_s=60)
    plans = scene.rows("SELECT plan FROM steps WHERE run_id = %s", run.id)
    read = {(group["group_id"], index): parts for row in plans for group in row["plan"]["groups"]
            for index, parts in enumerate(group["components"])}
    graded = scene.rows(
        "SELECT group_id, index, jsonb_object_agg(component, value) AS parts FROM grades "
        "WHERE run_id = %s AND component <> '' GROUP BY group_id, index", run.id)
    assert len(read) == STEPS * 4 * 4
    assert read == {(row["group_id"], row["index"]): row["parts"] for row in graded}
    whole = scene.rows("SELECT group_id, index, value FROM grades WHERE run_id = %s AND component = ''", run.id)
    for row in whole:
        parts = read[row["group_id"], row["index"]]
        assert row["value"] == pytest.approx((3 * parts["right"] + parts["even"]) / 4)


@pytest.mark.parametrize("name", sorted(set(PRESETS) - set(RUNNABLE) - {"sft"}))
def test_a_preset_that_needs_more_is_refused_with_what_it_needs(scene: Scene, name: str) -> None:
    with pytest.raises(Refused, match=unmet(name)):
        scene.client.create_run(spec(name))
