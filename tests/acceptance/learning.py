"""The run that learns from its rewards, and its measurement with stock transformers on prompts that are drawn."""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hone.environments import streams
from hone.environments.tasks import episode, split_of
from tests.acceptance import shared, toy
from tests.acceptance.scene import Scene, wait_for

STEPS, HELD_OUT, DIGITS = 36, 256, 5
SOURCE = {"environment": "sort_digits", "params": {"digits": DIGITS}}
BASE: dict[str, Any] = {"digits": DIGITS, "steps": 110, "careless": 0.5, "hidden": 128}
"""Arguments of the base that the run starts from."""


@dataclass(frozen=True)
class Draw:
    """The random choices of a test: the run's seed, and held-out prompts with their answers."""

    seed: int
    eval_seed: int
    prompts: list[str]
    answers: list[str]


def seeds() -> tuple[int, int]:
    """Return seeds for `draw` that nobody knows before."""
    return secrets.randbelow(2**31), secrets.randbelow(2**31)


def draw(seed: int, eval_seed: int) -> Draw:
    print(f"\nseeds drawn: run {seed}, held-out {eval_seed}")
    tasks = streams.draw("sort_digits", {"digits": DIGITS}, "held_out", eval_seed, 0, HELD_OUT, distinct=True)
    assert {split_of(task.content_hash) for task in tasks} == {"held_out"}
    seen = [episode(task).reset() for task in tasks]
    return Draw(seed, eval_seed, [one.messages[0]["content"] for one in seen], [one.item["answer"] for one in seen])


@pytest.fixture(scope="module")
def learning_base(bases: Callable[..., Path]) -> Path:
    return bases(**BASE)


@pytest.fixture(scope="module")
def drawn(session_folder: Path) -> Draw:
    """The draw of all test processes, so that they measure the base once."""
    path = shared.once(session_folder / "seeds.json", lambda part: part.write_text(json.dumps(seeds())))
    return draw(*json.loads(path.read_text()))


@pytest.fixture(scope="module")
def before(learning_base: Path, drawn: Draw, session_folder: Path) -> dict[str, float]:
    """The accuracies of the base, by stock transformers."""
    path = shared.once(session_folder / "stock-score.json", lambda part: part.write_text(
        json.dumps(stock_score(learning_base, drawn))))
    found: dict[str, float] = json.loads(path.read_text())
    return found


def spec(drawn: Draw, **changes: Any) -> dict[str, Any]:
    return toy.spec("learning", "learning-base", changes.pop("steps", STEPS), task=SOURCE, seed=drawn.seed, **{
        "batch": {"prompts": 32, "samples": 8}, "sampling": {"max_tokens": DIGITS + 2},
        "eval": {"prompts": HELD_OUT, "every": STEPS, "seed": drawn.eval_seed}, **changes})


def stock_score(directory: Path, drawn: Draw) -> dict[str, float]:
    """Return the accuracies of a model directory, measured with stock transformers."""
    script = Path(__file__).with_name("stock_score.py")
    work = {"prompts": drawn.prompts, "answers": drawn.answers, "max_tokens": DIGITS + 2, "seed": 1}
    ended = subprocess.run([sys.executable, "-I", str(script), str(directory)], input=json.dumps(work), text=True,
                           capture_output=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return found


def exported(scene: Scene, run_id: str, directory: Path) -> Path:
    """Export a run's final weights and download them."""
    export = scene.client.create_export(run_id)
    done = wait_for("the export", lambda: _ended(scene, export.id), 120)
    assert done.state == "done", done.reason
    directory.mkdir()
    for name in done.files:
        (directory / name).write_bytes(scene.client.export_file(export.id, name))
    return directory


def _ended(scene: Scene, export_id: str) -> Any:
    export = scene.client.export(export_id)
    return export if export.state != "queued" else None
