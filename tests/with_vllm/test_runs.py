"""A run that samples with vLLM: it learns, and goes on wherever its engine was killed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from tests.acceptance import invariants, toy
from tests.acceptance.havoc import Havoc
from tests.acceptance.scene import Scene, open_scene

STEPS, PROMPTS, LEASE_S = 60, 16, 2.0
PYTHON = Path(os.environ.get("HONE_VLLM_PYTHON", ".venv-vllm/bin/python")).absolute()


@pytest.fixture
def scene(shared_directory: Path) -> Iterator[Scene]:
    settings = {"engine": "vllm", "vllm_python": PYTHON, "lease_s": LEASE_S, "sweep_s": 0.5}
    opened = open_scene(shared_directory / "vllm", settings, {})
    yield opened
    opened.stack.stop()


@pytest.mark.timeout(480)
def test_a_run_learns_and_a_killed_engine_loses_nothing(scene: Scene, tmp_path: Path) -> None:
    scene.client.upload_model("base", toy.write_base(tmp_path / "base", steps=90, careless=0.5))
    run = scene.client.create_run(toy.spec("sampled by vLLM", "base", STEPS, eval=None))
    havoc = Havoc(scene, run.id, STEPS, LEASE_S)
    for point in ("generate.mid", "weights.mid-load"):
        havoc.crash_at("inference", point)
    havoc.kill("inference-0")
    scene.finished(run.id)
    print(f"\nseconds to the next steps on vllm: {json.dumps(havoc.summary())}")
    invariants.check(scene, run.id, STEPS, PROMPTS)
    reward = [value for _, value in scene.client.metrics(run.id).series["reward/mean"]]
    print(f"reward {fmean(reward[:8]):.3f} -> {fmean(reward[-8:]):.3f}")
    assert fmean(reward[-8:]) >= fmean(reward[:8]) + 0.1  # 0.25 is the least that was seen over seeds
    row = scene.client.trajectories(run.id, limit=1).data[0]
    sampled = scene.client.trajectory(run.id, row.group_id, row.index)
    assert {call["engine"].partition(" ")[0] for call in sampled.calls} == {"vllm"}
