"""A run learns from its rewards, as stock transformers measure it, on prompts that are drawn when the test runs."""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hone.environments import streams
from hone.environments.tasks import episode, split_of
from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene, wait_for

STEPS, HELD_OUT, DIGITS = 80, 512, 5
NOISE = 2 * (2 * 0.25 / HELD_OUT) ** 0.5  # two standard deviations between two shares of so many answers
SOURCE = {"environment": "sort_digits", "params": {"digits": DIGITS}}
TORCH_FREE = ("gateway", "driver", "rollout", "reward", "value", "simulation")

Opener = Callable[..., Scene]


@dataclass(frozen=True)
class Draw:
    """The random choices of a test: the run's seed, and held-out prompts with their answers."""

    seed: int
    eval_seed: int
    prompts: list[str]
    answers: list[str]


def draw() -> Draw:
    seed, eval_seed = secrets.randbelow(2**31), secrets.randbelow(2**31)
    print(f"\nseeds drawn: run {seed}, held-out {eval_seed}")
    tasks = streams.draw("sort_digits", {"digits": DIGITS}, "held_out", eval_seed, 0, HELD_OUT, distinct=True)
    assert {split_of(task.content_hash) for task in tasks} == {"held_out"}
    seen = [episode(task).reset() for task in tasks]
    return Draw(seed, eval_seed, [one.messages[0]["content"] for one in seen], [one.item["answer"] for one in seen])


@pytest.fixture(scope="module")
def drawn() -> Draw:
    return draw()


@pytest.fixture(scope="module")
def base(bases: Callable[..., Path]) -> Path:
    return bases(digits=DIGITS, steps=110, careless=0.5, hidden=128)


@pytest.fixture(scope="module")
def scene(plain: Scene, base: Path) -> Scene:
    plain.client.upload_model("learning-base", base)
    return plain


@pytest.fixture
def opener(alone: None, shared_directory: Path, base: Path) -> Iterator[Opener]:  # noqa: ARG001
    """Opens a stack of the test's own, in which a stub takes the place of a service."""
    scenes: list[Scene] = []

    def opened(**commands: list[str]) -> Scene:
        state = shared_directory / f"learning-{secrets.token_hex(4)}"
        scenes.append(open_scene(state, {"sweep_s": 0.5}, {}, commands))
        scenes[-1].client.upload_model("learning-base", base)
        return scenes[-1]

    yield opened
    for scene in scenes:
        scene.stack.stop()


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


@pytest.mark.soak
@pytest.mark.parametrize("repetition", range(3))
def test_rewards_teach_with_every_seed(scene: Scene, base: Path, tmp_path: Path, repetition: int) -> None:
    drawn = draw()
    run = scene.client.create_run(spec(drawn, eval=None))
    scene.finished(run.id)
    before, after = stock_score(base, drawn), stock_score(exported(scene, run.id, tmp_path / "out"), drawn)
    print(f"repetition {repetition}: {before} -> {after}")
    assert after["sampled"] >= before["sampled"] + 0.15


def test_rewards_teach_and_stock_transformers_agrees(scene: Scene, drawn: Draw, base: Path, tmp_path: Path) -> None:
    run = scene.client.create_run(spec(drawn))
    _assert_torch_is_where_it_belongs(scene)
    scene.finished(run.id)
    before, after = stock_score(base, drawn), stock_score(exported(scene, run.id, tmp_path / "out"), drawn)
    print(f"stock transformers: {before} -> {after}")
    assert after["sampled"] >= before["sampled"] + 0.15
    _assert_own_evaluation_agrees(scene, run.id, before, after)
    _assert_services_did_the_work(scene, run.id)
    _assert_training_never_saw_a_held_out_prompt(scene, run.id)


def _assert_torch_is_where_it_belongs(scene: Scene) -> None:
    for name, pid in scene.stack.pids().items():
        loaded = "libtorch" in Path(f"/proc/{pid}/maps").read_text()
        if name.partition("-")[0] in TORCH_FREE:
            assert not loaded, f"{name} has torch loaded"
    trainer = scene.stack.pids()["trainer-0"]
    assert "libtorch" in Path(f"/proc/{trainer}/maps").read_text(), "the check itself sees torch where it is"


def _assert_own_evaluation_agrees(
    scene: Scene, run_id: str, before: dict[str, float], after: dict[str, float]
) -> None:
    series = scene.client.metrics(run_id).series
    for stock, place in ((before, 0), (after, -1)):
        assert series["eval/greedy"][place][1] == pytest.approx(stock["greedy"], abs=4 / HELD_OUT)
        assert series["eval/sampled"][place][1] == pytest.approx(stock["sampled"], abs=0.12)
    assert max(value for _, value in series["gap/mean"]) < 1e-4


def _assert_services_did_the_work(scene: Scene, run_id: str) -> None:
    stored = scene.one("SELECT count(*) FROM trajectories WHERE run_id = %s", run_id)
    wait_for("the engine's own count of samples", lambda: _generated(scene, run_id) >= stored, 10)
    graded = scene.one("SELECT count(*) FROM grades WHERE run_id = %s", run_id)
    assert stored == STEPS * 32 * 8 + 2 * 2 * HELD_OUT
    assert graded == stored


def _generated(scene: Scene, run_id: str) -> int:
    return int(scene.one("SELECT sum(generated_samples) FROM engine_models em JOIN runs r "
                         "ON r.policy_model_id = em.model_id WHERE r.id = %s", run_id))


def _assert_training_never_saw_a_held_out_prompt(scene: Scene, run_id: str) -> None:
    hashes = {purpose: {row["task_hash"] for row in scene.rows(
        "SELECT task_hash FROM groups WHERE run_id = %s AND purpose = %s", run_id, purpose)}
        for purpose in ("train", "eval")}
    assert len(hashes["eval"]) == HELD_OUT
    assert not hashes["train"] & hashes["eval"]


def test_with_reward_frozen_the_run_stalls_says_so_and_goes_on(scene: Scene, drawn: Draw) -> None:
    run = scene.client.create_run(spec(drawn, eval=None, steps=30))
    wait_for("a few steps", lambda: scene.committed(run.id) >= 3, 60)
    pid = scene.stack.kill("reward-0", signal.SIGSTOP)
    try:
        explanation = wait_for("an explanation", lambda: scene.client.run(run.id).waiting_for, 60)
        stalled = scene.committed(run.id)
        wait_for("reward to be named", lambda: "reward" in (scene.client.run(run.id).waiting_for or ""), 120)
        assert scene.committed(run.id) <= stalled + 1
        assert "groups" in explanation or "step" in explanation
    finally:
        os.kill(pid, signal.SIGCONT)
    scene.finished(run.id)


def test_shuffled_rewards_teach_nothing(opener: Opener, drawn: Draw, base: Path, tmp_path: Path) -> None:
    scene = opener(reward=[sys.executable, "-m", "tests.acceptance.stubs.shuffled_reward"])
    run = scene.client.create_run(spec(drawn, eval=None))
    scene.finished(run.id)
    before, after = stock_score(base, drawn), stock_score(exported(scene, run.id, tmp_path / "out"), drawn)
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
