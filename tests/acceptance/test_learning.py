"""A run learns from its rewards, as stock transformers measure it, on prompts that are drawn when the test runs."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.learning import HELD_OUT, STEPS, Draw, draw, exported, seeds, spec, stock_score
from tests.acceptance.scene import Scene, wait_for

TORCH_FREE = ("gateway", "driver", "rollout", "reward", "value", "simulation")


@pytest.fixture(scope="module")
def scene(plain: Scene, learning_base: Path) -> Scene:
    plain.client.upload_model("learning-base", learning_base)
    return plain


@pytest.mark.soak
@pytest.mark.parametrize("repetition", range(3))
def test_rewards_teach_with_every_seed(scene: Scene, learning_base: Path, tmp_path: Path, repetition: int) -> None:
    drawn = draw(*seeds())
    run = scene.client.create_run(spec(drawn, eval=None))
    scene.finished(run.id)
    before, after = stock_score(learning_base, drawn), stock_score(exported(scene, run.id, tmp_path / "out"), drawn)
    print(f"repetition {repetition}: {before} -> {after}")
    assert after["sampled"] >= before["sampled"] + 0.15


def test_rewards_teach_and_stock_transformers_agrees(
    scene: Scene, drawn: Draw, before: dict[str, float], tmp_path: Path,
) -> None:
    run = scene.client.create_run(spec(drawn))
    _assert_torch_is_where_it_belongs(scene)
    scene.finished(run.id)
    after = stock_score(exported(scene, run.id, tmp_path / "out"), drawn)
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
    wait_for("the engine's own count of samples", lambda: _generated(scene, run_id) >= stored, 120)
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
    run = scene.client.create_run(spec(drawn, eval=None, steps=12))
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
