"""Rollouts on demand: predictions decide on waves before they are sampled, steps read them, and kills change no bit.

Outcomes are found by likeness, and a model that is trained on them predicts.
"""

import http.client
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from hone.algorithms.allocation.v0_5 import next_wave
from hone.algorithms.value import model
from hone.api import value_pb2
from hone.api.value_pb2_grpc import ValueServiceStub
from hone.cli.main import app
from hone.client import errors as client_errors
from hone.client import every
from hone.crashpoints import WAVE_POINTS
from hone.text import sentence_encoder
from tests.acceptance import invariants, toy
from tests.acceptance.havoc import Havoc
from tests.acceptance.scene import Scene
from tests.acceptance.stacks import PLAIN
from tests.servers.service import running

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


@pytest.fixture(scope="module")
def recorded(scene: Scene) -> str:
    """A run that has ended, whose outcomes are read and learned from."""
    run = scene.client.create_run(spec("recorded", "grpo"))
    scene.finished(run.id, timeout_s=120)
    return run.id


def test_outcomes_on_like_prompts_are_found_over_rest_and_by_the_command(
    scene: Scene, recorded: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = list(every(scene.client.outcomes, run_id=recorded))
    asked = known[0].prompt or ""
    near = scene.client.outcomes(recorded, limit=7, similar_to=asked)
    assert (near.compared, near.left_out, near.next) == (len({one.task_hash for one in known}), 0, None)
    similarities = [one.similarity or 0.0 for one in near.data]
    assert similarities == sorted(similarities, reverse=True)
    assert near.data[0].prompt == asked
    assert similarities[0] == pytest.approx(1.0, abs=1e-6)
    assert near.data[0] == next(one for one in reversed(known) if one.prompt == asked).model_copy(
        update={"similarity": similarities[0]})
    version = next(one.version_id for one in known if one.version_id)
    assert version
    of_version = scene.client.outcomes(recorded, limit=500, similar_to=asked, version=version).data
    assert {one.id for one in of_version} <= {one.id for one in known if one.version_id == version}
    for wrong, field in (({"similar_to": ""}, "similar_to"), ({"similar_to": "x" * 8193}, "similar_to"),
                         ({"similar_to": "x", "after": "1"}, "after"), ({"similar_to": "x", "limit": 501}, "limit")):
        with pytest.raises(client_errors.Refused, match=f"query.{field}"):
            scene.client.outcomes(recorded, **cast(Any, wrong))
    record = scene.stack.record()
    gateway = http.client.HTTPConnection(urlsplit(record.gateway_url).netloc, timeout=120)
    gateway.request("GET", f"/v1/runs/{recorded}/outcomes?similar_to={'x' * 10 * 2**20}",
                    headers={"Authorization": f"Bearer {record.api_key}"})
    assert gateway.getresponse().status in (400, 414)
    gateway.close()
    monkeypatch.setenv("HONE_URL", scene.stack.record().gateway_url)
    monkeypatch.setenv("HONE_API_KEY", scene.stack.record().api_key)
    shown = CliRunner().invoke(app, ["value", "outcomes", recorded, "--like", asked, "--limit", "3", "--json"]).stdout
    assert [json.loads(line)["id"] for line in shown.splitlines()] == [one.id for one in near.data[:3]]


@pytest.mark.timeout(300)
def test_a_value_model_is_trained_on_outcomes_and_the_service_predicts_by_it(
    scene: Scene, recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HONE_URL", scene.stack.record().gateway_url)
    monkeypatch.setenv("HONE_API_KEY", scene.stack.record().api_key)
    path = tmp_path / "v0.safetensors"
    ended = CliRunner().invoke(app, ["value", "train", "--run", recorded, "--out", str(path), "--epochs", "1"])
    assert ended.exit_code == 0, ended.output
    trained, minilm = model.load(path), sentence_encoder.installed() is not None
    assert (trained.embedder, trained.kind) == (("minilm-l6-v2", "queries") if minilm else ("hashed-v1", "mlp"))
    asked = value_pb2.PredictRequest(run_id=recorded, before_step=STEPS + 1, prompts=[
        value_pb2.Prompt(task_hash="new", text="s4321=")])
    with running("value", HONE_DATABASE_URL=scene.database_url, HONE_VALUE_MODEL=str(path),
                 HONE_VALUE_EMBEDDER="auto") as restarted:
        answer = ValueServiceStub(restarted.channel).Predict(asked)
    assert answer.head_version == f"ridge/{trained.version}"
    assert answer.context_rows > 200
    assert 0 < answer.predictions[0].p < 1


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
