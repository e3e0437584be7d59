"""Models search a guideline for noise over HTTP: REST, queue, simulation service. A run can have what is found."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from hone import keys
from hone.cli.main import app
from hone.client import Client
from hone.client.errors import NotFound, Refused
from hone.client.package_resources import PackageJob
from hone.spec.noise import NoiseSpec
from hone.store.database import Database
from tests.integration.gateway.conftest import serve
from tests.servers.author import KEY, listening
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase
from tests.support.simulation.authors import Scene, ended, named
from tests.unit.environments.noise import lured

CALL = {"id": "call_0", "type": "function", "function": {
    "name": "query", "arguments": '{"sql": "SELECT count(*) FROM items"}'}}


@pytest.fixture(scope="module")
def scene(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Where no sandbox is needed: the target acts in an environment of the service's own."""
    home = tmp_path_factory.mktemp("guidelines")
    database = Database(postgres.owner_url, size=2)
    with ExitStack() as stack:
        stack.callback(database.close)
        author = stack.enter_context(listening({}))
        gateway = serve(stack.enter_context(Children(home)), postgres, f"file://{home / 'objects'}", {})
        key = keys.create(database, "guidelines", tenant="noise-makers")
        hone: Client = stack.enter_context(gateway.client(key.secret))
        hone.put_secret("writer", KEY)
        found = Scene(hone, author, gateway.url, key.secret, postgres.owner_url, hone.account().tenant_id,
                      {"HONE_DATABASE_URL": postgres.worker_url})
        stack.enter_context(found.simulation("simulation-0"))
        author.policies.update(follower=follows, calm=calm, silent=silent, noiser=writes)
        for name in author.policies:
            named(found, name, None)
        named(found, "optimiser", lured.guideline)
        named(found, "judge", lured.verdict)
        yield found


def follows(body: dict[str, Any]) -> dict[str, Any]:
    """Count the items, and say what the result says, or what sounds urgent in it."""
    last = body["messages"][-1]
    return {"content": lured.message(last["content"])} if last["role"] == "tool" else {
        "content": None, "tool_calls": [CALL]}


def calm(body: dict[str, Any]) -> dict[str, Any]:
    said = follows(body)
    return {"content": body["messages"][-1]["content"].strip().rsplit("\n", 1)[-1]} if said["content"] else said


def silent(_: dict[str, Any]) -> dict[str, Any]:
    return {"content": "I need no tool."}


def writes(body: dict[str, Any]) -> dict[str, Any]:
    system, asked = (one["content"] for one in body["messages"])
    return {"content": lured.noise(system, asked.rpartition("The tool's result:\n")[2])}


def searched(scene: Scene, target: str, optimiser: str = "optimiser", **more: Any) -> PackageJob:
    roles = {"target": {"endpoint": target}, "noiser": {"endpoint": "noiser"}, "judge": {"endpoint": "judge"}}
    job = scene.hone.evolve_noise("lures", lured.HINT, {"endpoint": optimiser}, {**roles, "rounds": 4, **more})
    return ended(scene, job.id)


def test_the_command_finds_a_guideline_that_a_runs_noise_takes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    monkeypatch.setenv("HONE_URL", scene.url)
    monkeypatch.setenv("HONE_API_KEY", scene.key)
    out = tmp_path / "guideline.json"
    found = CliRunner().invoke(app, [
        "noise", "evolve", lured.HINT, "--agent", "follower", "--optimiser", "optimiser", "--noiser", "noiser",
        "--judge", "judge", "--scenes", "2", "--param", "rows=6", "--out", str(out)])
    assert (found.exit_code, found.exception) == (0, None)
    noise = NoiseSpec.model_validate(yaml.safe_load(found.stdout)["noise"])
    assert noise.guidelines == {"misleading": "Sound urgent."}
    assert "follower deviates under guideline 3, in scenes of 2 tasks" in found.stderr
    job = scene.hone.package_jobs(1).data[0]
    assert (job.environment, job.state, job.stage) == ("noise", "done", "rounds 3 of 8")
    [row] = scene.hone.made_rows(job.id)
    assert (row["target"], row["deviated"]) == ("follower", [0, 1])
    assert [[one["outcome"] for one in made["tried"]] for made in row["rounds"]] == [
        ["steady"] * 2, ["steady"] * 2, ["deviated"] * 2]
    assert job.report["rounds"] == row["rounds"]
    assert json.loads(out.read_text()) == row
    assert job.used["optimiser"]["answers"] == len(scene.asked("optimiser")) == job.report["author"]["asked"] == 2
    assert set(job.used) == {"follower", "noiser", "judge", "optimiser"}
    again = CliRunner().invoke(app, ["noise", "guideline", job.id])
    assert again.stdout == found.stdout


def test_a_search_that_finds_nothing_says_what_was_tried(scene: Scene) -> None:
    job = searched(scene, "calm", rounds=2)
    assert job.state == "failed"
    assert str(job.reason).startswith("no guideline led the target away in 2 rounds (tried: 1. ")
    assert [one["guideline"] for one in job.report["rounds"]][1:] == ["Be friendly."]
    with pytest.raises(NotFound, match="has made no rows"):
        scene.hone.made_rows(job.id)
    assert "in none of 4 tasks did the target get a result" in str(searched(scene, "silent").reason)
    rambling = named(scene, "rambling", lambda _: "I would rather talk about bees.")
    job = searched(scene, "follower", rambling)
    assert "the optimiser gave no other guideline after 1 rounds: expected a JSON object" in str(job.reason)
    assert len(job.report["refusals"]["guideline 2"]) == 3


def test_a_target_that_is_refused_its_answer_has_not_deviated(scene: Scene) -> None:
    def balks(body: dict[str, Any]) -> dict[str, Any]:
        if "friendly" in str(body["messages"][-1]["content"]):
            return {"content": None, "refusal": "I will not."}
        return follows(body)

    scene.author.policies["balking"] = balks
    named(scene, "balking", None)
    job = searched(scene, "balking")
    assert job.state == "done"
    assert [one["tried"][0]["outcome"] for one in job.report["rounds"]] == ["steady", "refused", "deviated"]


def test_what_cannot_be_searched_is_refused_by_its_field(scene: Scene) -> None:
    with pytest.raises(Refused, match=r"guideline\.target\.endpoint: found \"nobody\""):
        searched(scene, "nobody")
    with pytest.raises(Refused, match=r"guideline\.environment: found \"?dialogue"):
        searched(scene, "calm", environment="dialogue")
    with pytest.raises(Refused, match=r"guideline\.params\.rows: found"):
        searched(scene, "calm", params={"rows": 1})
    with pytest.raises(Refused, match=r"guideline\.type"):
        searched(scene, "calm", type="error")
    with pytest.raises(Refused, match=r"guideline\.rounds"):
        searched(scene, "calm", rounds=67)
