"""The examples that users start from: each trains through all services, with fewer steps a stage than in its file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hone.models import toy
from tests.acceptance.scene import Scene, wait_for

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = {"own-dataset": (50, 56), "lora": (6,), "several-turns": (6, 10), "curriculum": (3, 6), "distillation": (6,),
         "mixture": (3, 6)}
"""The last step of each stage: in every example each stage trains. The first teaches, since others go on from it."""


@pytest.fixture(scope="module")
def scene(plain: Scene, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    plain.client.upload_model("toy", toy.write(tmp_path_factory.mktemp("toy")))
    for name in ("digits", "turns"):
        plain.client.upload_dataset(name, EXAMPLES / f"{name}.jsonl")
    return plain


def spec(name: str) -> dict[str, Any]:
    written = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    *ends, steps = STEPS[name]
    stages = [{**stage, "until": until} for stage, until in zip(written.get("stages", []), ends, strict=True)]
    return {**written, "steps": steps, **({"stages": stages} if stages else {})}


def test_every_example_trains(scene: Scene, tmp_path: Path) -> None:
    assert set(STEPS) == {path.stem for path in EXAMPLES.glob("*.yaml")}
    first = scene.client.create_run(spec("own-dataset"))
    turns = scene.client.create_run(spec("several-turns"))
    scene.finished(first.id)
    assert scene.client.metrics(first.id).series["eval/sampled"][-1][1] > 0.2, "the warm-up and rewards taught it"
    scene.client.upload_model("sorter", exported(scene, first.id, tmp_path))
    others = [scene.client.create_run(spec(name)) for name in ("lora", "curriculum", "distillation", "mixture")]
    for run in (turns, *others):
        scene.finished(run.id)
        assert len(set(scene.weights(run.id))) > 1, "its weights moved"
    matrix = scene.client.matrix(others[-1].id)
    assert (matrix.sources, matrix.incomplete) == (["four", "five", "even"], False)
    assert [(row.stage, [cell.trained for cell in row.cells]) for row in matrix.rows] == [
        ("base", [False] * 3), ("even alone", [False, False, True]), ("grpo", [True] * 3)]
    stages = [event.message for event in scene.client.events(turns.id).data if event.kind == "stage"]
    assert stages == ["stage gigpo begins: steps 7 to 10"]


def exported(scene: Scene, run_id: str, directory: Path) -> Path:
    """Export a run's final weights and download them, as `hone export` does."""
    export = scene.client.create_export(run_id)
    done = wait_for("the export", lambda: next(
        (one for one in [scene.client.export(export.id)] if one.state != "queued"), None), 120)
    assert done.state == "done", done.reason
    for name in done.files:
        (directory / name).write_bytes(scene.client.export_file(export.id, name))
    return directory
