"""A package that was made from a hint trains a policy: its tools run in the sandbox, and the reward rises."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from hone.client.package_resources import PackageJob
from hone.environments.packages import archive
from hone.environments.packages.episode import PackageEpisode
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Package, PackageTask
from hone.environments.tools import ToolCall
from hone.models import toy
from tests.acceptance.scene import Scene, wait_for

TASKS, IMITATED, STEPS, RISE = 6, 110, 122, 0.15
TEACHES: dict[str, Any] = {"algorithm": "sft", "task": {"dataset": "desk-shown"}, "lr": 3e-3,
                           "batch": {"prompts": 6, "samples": 1}}


@pytest.mark.timeout(600)
def test_a_policy_learns_the_tasks_of_a_package_that_was_made_from_a_hint(plain: Scene, tmp_path: Path) -> None:
    job = plain.client.make_package("desk", "a school", seed=0, tasks=TASKS)
    made = wait_for("the package", lambda: ended(plain, job.id), 120)
    assert made.state == "done", made.reason
    package = archive.unpacked(plain.client.package_archive("desk"))
    rows = [shown(package, task, careless) for task in package.tasks if task.difficulty == 1
            for careless in (False, True)]
    plain.client.upload_dataset("desk-shown", "".join(json.dumps(row) + "\n" for row in rows).encode())
    symbols = [*toy.TEXT, *words(rows)]
    plain.client.upload_model("desk-base", toy.write(
        tmp_path, hidden=96, ffn=256, heads=3, vocab_size=-(-len(symbols) // 64) * 64, symbols=symbols))
    run = plain.client.create_run({
        "name": "desk", "seed": 0, "model": {"base": "desk-base"}, "chat": {"control_tokens": True}, "eval": None,
        "task": {"environment": "package", "params": {
            "package": "desk", "difficulties": [1], "turns": 4, "show_policy": False}},
        "harness": {"name": "tool_loop", "params": {"describe": False}}, "algorithm": "grpo", "steps": STEPS,
        "stages": [{"name": "imitate", "until": IMITATED, **TEACHES}], "sampling": {"max_tokens": 96},
        "batch": {"prompts": 12, "samples": 8}, "snapshot_every": STEPS,
        "optimizer": {"lr": 2e-4, "schedule_params": {"warmup_steps": 0}}})
    plain.finished(run.id)
    reward = [value for step, value in plain.client.metrics(run.id).series["reward/mean"] if step > IMITATED]
    print(f"\nreward {[round(value, 2) for value in reward]}")
    assert fmean(reward[-3:]) >= fmean(reward[:3]) + RISE
    best = next(row for row in plain.client.trajectories(run.id, step=STEPS).data if row.score == 1)
    whole = plain.client.trajectory(run.id, best.group_id, best.index)
    assert (whole.item["package"], whole.item["mismatches"], whole.item["untold"]) == (made.digest, [], [])


def ended(scene: Scene, job_id: str) -> PackageJob | None:
    job = scene.client.package_job(job_id)
    return job if job.state in ("done", "failed") else None


def shown(package: Package, task: PackageTask, careless: bool) -> dict[str, str]:
    """Return an episode of a teacher who solves a task, or is done before its last call."""
    world = PackageEpisode(package, task, LocalRunner(), 4, show_policy=False)
    prompt, said, texts = world.reset().messages[0]["content"], "", list[str]()
    for use in task.chain[:-1] if careless else task.chain:
        call = json.dumps({"name": use.tool, "arguments": use.arguments})
        texts.append(f"{said}<tool_call>\n{call}\n</tool_call>")
        said = world.step(ToolCall(use.tool, use.arguments).action()).observation.messages[0]["content"]
    answer = "done" if careless else " ".join(["done", *task.communicate])
    return {"prompt": prompt, "completion": "<eos>".join([*texts, f"{said}{answer}"])}


def words(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return the pieces of what is shown that are tokens of their own."""
    return sorted({piece for row in rows for text in row.values() for piece in re.findall(r"\w+|[^\w\s]+|\s+", text)
                   if len(piece) > 1 and "eos" not in piece})
