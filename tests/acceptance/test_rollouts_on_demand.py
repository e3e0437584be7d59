"""Rollouts on demand: predictions decide on waves before they are sampled, steps read them, and kills change no bit."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hone.algorithms.allocation.v0_5 import next_wave
from hone.crashpoints import WAVE_POINTS
from tests.acceptance import invariants, toy
from tests.acceptance.havoc import Havoc
from tests.acceptance.scene import Scene
from tests.acceptance.stacks import PLAIN

STEPS, PROMPTS, SAMPLES = 10, 32, 4


@pytest.fixture(scope="module")
def scene(plain: Scene, bases: Callable[..., Path]) -> Scene:
    plain.client.upload_model("on-demand-base", bases(steps=40, careless=0.5))
    return plain


def spec(name: str, preset: str, **changes: Any) -> dict[str, Any]:
    return toy.spec(name, "on-demand-base", STEPS, **{
        "algorithm": {"preset": preset}, "eval": None, "batch": {"prompts": PROMPTS, "samples": SAMPLES}, **changes})


def groups(scene: Scene, run_id: str) -> list[dict[str, Any]]:
    """Return the groups of a run with what their orders say, their waves, and the scores of their samples in order."""
    return scene.rows(
        "SELECT g.id, g.step, g.waves, g.order -> 'n' AS n, g.order -> 'budget' AS budget, g.order -> 'waves' AS rule, "
        "array_agg(t.score ORDER BY t.index) AS scores FROM groups g JOIN trajectories t ON t.group_id = g.id "
        "WHERE g.run_id = %s AND g.purpose = 'train' GROUP BY g.id ORDER BY g.request_no", run_id)


@pytest.mark.timeout(600)
def test_waves_follow_predictions_and_kills_between_them_change_no_bit(scene: Scene) -> None:
    calm = scene.client.create_run(spec("calm", "v0_5"))
    scene.finished(calm.id, timeout_s=120)
    made = groups(scene, calm.id)
    check_waves(made)
    check_plans(scene, calm.id, made)
    run = scene.client.create_run(spec("killed", "v0_5"))
    havoc = Havoc(scene, run.id, STEPS, PLAIN.settings["lease_s"])
    for point in WAVE_POINTS["rollout"]:
        havoc.crash_at("rollout", point)
    print(f"\nrandom kill {havoc.random_kills(secrets.randbelow(2**31), 1)}")
    scene.finished(run.id, timeout_s=240)
    for each in (calm, run):
        invariants.check(scene, each.id, STEPS, PROMPTS)
    again = groups(scene, run.id)
    assert [(one["waves"], one["budget"], one["scores"]) for one in again] == [
        (one["waves"], one["budget"], one["scores"]) for one in made]
    assert scene.weights(run.id) == scene.weights(calm.id)


def check_waves(made: list[dict[str, Any]]) -> None:
    """Check that each wave is what the rewards before it ask for, and that without a prediction there is one wave."""
    waved = [one for one in made if one["rule"] is not None]
    assert len(waved) >= PROMPTS, "predictions were reliable in one step at least"
    assert any(one["waves"] for one in waved)
    for one in waved:
        rule, ends = one["rule"], [one["n"]]
        assert (one["n"], rule["most"], rule["predicted"]) == (4, 16, one["budget"]["predicted"])
        for size in [*one["waves"], 0]:
            rewards = [2 * score - 1 for score in one["scores"][:ends[-1]]]
            assert next_wave(rewards, 2 * rule["predicted"] - 1, rule["cost"], 16) == size
            ends.append(ends[-1] + size)
    for one in made:
        assert len(one["scores"]) == one["n"] + sum(one["waves"])
        assert one["rule"] is not None or (one["n"], one["waves"]) == (SAMPLES, [])


def check_plans(scene: Scene, run_id: str, made: list[dict[str, Any]]) -> None:
    """Check that steps name the predictions that they read, and measure how well these agreed with the outcomes."""
    plans = scene.rows("SELECT plan FROM steps WHERE run_id = %s ORDER BY n", run_id)
    read = {group["group_id"]: group["predicted"] for row in plans for group in row["plan"]["groups"]}
    assert read == {one["id"]: one["budget"]["predicted"] if one["budget"]["reliable"] else None for one in made}
    series = scene.client.metrics(run_id).series
    assert {"advantage/accepted", "value/calibration_error", "rollouts/signal_share"} <= series.keys()
    assert sum(name.endswith("/groups") for name in series if name.startswith("value/band/")) >= 1
    last = max(step for step, _ in series["value/used_share"])
    used = dict(series["value/used_share"])[last]
    assert used == dict(series["advantage/predicted_share"])[last] == 1


@pytest.mark.parametrize("preset", ["v0", "coba_rl"])
def test_a_budget_is_shared_out_between_the_bounds(scene: Scene, preset: str) -> None:
    run = scene.client.create_run(spec(preset, preset))
    scene.finished(run.id, timeout_s=120)
    made = groups(scene, run.id)
    for step in range(1, STEPS + 1):
        assert sum(one["n"] for one in made if one["step"] == step) == PROMPTS * SAMPLES
    assert {one["n"] for one in made if one["step"] == 1} == {SAMPLES}
    assert len({one["n"] for one in made}) > 1
    assert min(one["n"] for one in made) >= 2
    series = scene.client.metrics(run.id).series
    assert {"allocation/unspent", "rollouts/signal_share"} <= series.keys()
    assert {"allocation/alpha", "allocation/failure"} <= series.keys() or preset == "v0"
