"""Models write tasks of the desk, and lives, over HTTP: REST, queue, simulation service. It becomes a dataset."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hone import keys
from hone.cli.main import app
from hone.client import Client
from hone.client.errors import NotFound, Refused
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.changing_user import ChangingUserParams
from hone.environments.desk.hints import created
from hone.store.database import Database
from tests.integration.gateway.conftest import serve
from tests.servers.author import KEY, listening
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase
from tests.support.simulation.authors import Scene, ended, named
from tests.unit.environments.desk import fitting
from tests.unit.environments.written_lives import keeper


@pytest.fixture(scope="module")
def scene(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Where no sandbox is needed: nothing that a model writes here is run."""
    home = tmp_path_factory.mktemp("desk-authors")
    database = Database(postgres.owner_url, size=2)
    with ExitStack() as stack:
        stack.callback(database.close)
        author = stack.enter_context(listening({}))
        gateway = serve(stack.enter_context(Children(home)), postgres, f"file://{home / 'objects'}", {})
        key = keys.create(database, "desk-author", tenant="desk-writers")
        hone: Client = stack.enter_context(gateway.client(key.secret))
        hone.put_secret("writer", KEY)
        found = Scene(hone, author, gateway.url, key.secret, postgres.owner_url, hone.account().tenant_id,
                      {"HONE_DATABASE_URL": postgres.worker_url})
        stack.enter_context(found.simulation("simulation-0"))
        yield found


def made(scene: Scene, author: str, validator: str | None = None, **more: Any) -> Any:
    wanted = scene.hone.make_desk_tasks("fittings", fitting.HINT, {"endpoint": author},
                                        {"endpoint": validator} if validator else None, **{"tasks": 1, **more})
    return ended(scene, wanted.id)


def test_the_command_makes_a_dataset_of_what_a_good_author_writes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    named(scene, "good", fitting.answer)
    monkeypatch.setenv("HONE_URL", scene.url)
    monkeypatch.setenv("HONE_API_KEY", scene.key)
    out = tmp_path / "rows.jsonl"
    found = CliRunner().invoke(app, ["desk", "make", fitting.HINT, "--author", "good", "--tasks", "2", "--dataset",
                                     "fittings", "--out", str(out)])
    assert (found.exit_code, found.exception) == (0, None)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["seed"] for row in rows] == [0, 1]
    assert rows[0].keys() >= (ENVIRONMENTS["desk"].columns or set())
    assert scene.hone.dataset("fittings").rows == 2
    job = scene.hone.package_jobs(1).data[0]
    assert (job.environment, job.state, job.stage) == ("desk", "done", "tasks 2 of 2")
    assert [one["score"] for one in job.report["validations"]] == [85.0, 85.0]
    assert job.used["good"]["answers"] == len(scene.asked("good")) == 4


def test_without_an_author_a_seed_draws_what_the_hint_names(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONE_URL", scene.url)
    monkeypatch.setenv("HONE_API_KEY", scene.key)
    make = ["desk", "make", "--tasks", "2", "--seed", "3", "--dataset", "drawn"]
    assert CliRunner().invoke(app, [*make, "tidy up"]).exit_code == 0
    job = scene.hone.package_jobs(1).data[0]
    assert scene.hone.made_rows(job.id) == [dict(row) for row in created("tidy up", 3, 2).rows]
    assert [(one["family"], one["repair"]) for one in job.report["drafts"]] == [("clean", "")] * 2
    assert scene.hone.dataset("drawn").rows == 2
    assert CliRunner().invoke(app, [*make, "bee keeping"]).exit_code == 1
    job = scene.hone.package_jobs(1).data[0]
    assert (job.state, str(job.reason)[:38]) == ("failed", "no word of 'bee keeping' names a famil")


def test_a_job_without_an_accepted_task_says_what_was_tried(scene: Scene) -> None:
    job = made(scene, named(scene, "cheat", lambda _: fitting.trivial()))
    assert job.state == "failed"
    assert str(job.reason).startswith(
        "no task was accepted (tried: 3 times: idle: the state before scores 100, expected at most 10; ")
    assert len(job.report["refusals"]["task 0"]) == 3
    job = made(scene, named(scene, "garbage", lambda _: "I would rather talk about violins."))
    assert "no task was accepted (tried: 3 times: expected a JSON object. " in str(job.reason)
    with pytest.raises(NotFound, match="has made no rows"):
        scene.hone.made_rows(job.id)
    job = made(scene, named(scene, "nul", lambda _: fitting.task(instruction="Move \0 it.")))
    assert "instruction: expected text without NUL characters and lone surrogates" in str(job.reason)
    job = made(scene, named(scene, "halting", fitting.answer, run_tokens=1000))
    assert "the run has used its 1000 tokens" in str(job.reason)


def test_an_own_validator_is_asked_and_heard(scene: Scene) -> None:
    named(scene, "good", fitting.answer)
    strict = named(scene, "strict", lambda question: {"upheld": True, "evidence": "keep its length"} if (
        "A validator refused it" in question) else fitting.OBJECTION)
    job = made(scene, "good", strict, seed=1)
    assert job.state == "failed"
    assert "the instruction does not say what time demands: the length is not said" in job.reason
    assert {tuple(one["adjudicated"]) for one in job.report["validations"]} == {(True, True)}
    assert job.used["strict"]["answers"] == 27


def written(scene: Scene, author: str, **more: Any) -> Any:
    sizes = keeper.SIZES.model_dump()
    wanted = scene.hone.make_lives("keepers", keeper.HINT, {"endpoint": author}, **{"lives": 1, "sizes": sizes, **more})
    return ended(scene, wanted.id)


def test_the_command_makes_a_dataset_of_lives_that_another_model_understands(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    named(scene, "keeper", keeper.answer)
    named(scene, "reader", keeper.answer)
    monkeypatch.setenv("HONE_URL", scene.url)
    monkeypatch.setenv("HONE_API_KEY", scene.key)
    out, sizes = tmp_path / "rows.jsonl", keeper.SIZES.model_dump()
    found = CliRunner().invoke(app, [
        "lives", "make", keeper.HINT, "--author", "keeper", "--checker", "reader", "--users", "2", "--dataset",
        "keepers", "--out", str(out), *(part for name, size in sizes.items() for part in ("--size", f"{name}={size}"))])
    assert (found.exit_code, found.exception) == (0, None)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["life"]["person"]["name"] for row in rows] == ["Ada Berg", "Bo Lund"]
    assert scene.hone.dataset("keepers").rows == 2
    assert ENVIRONMENTS["changing_user"].messages(ChangingUserParams(), 0, rows[0])[1]["content"].endswith(
        f"{rows[0]['prompt']}\n")
    job = scene.hone.package_jobs(1).data[0]
    assert (job.environment, job.state, job.stage, job.sizes) == (
        "changing_user", "done", "lives 2 of 2", keeper.SIZES)
    assert job.report["lives"] == [{"number": number, "corrections": 0, "refinements": 0} for number in (0, 1)]
    assert [job.used[name]["answers"] for name in ("keeper", "reader")] == [len(scene.asked("keeper")), len(
        scene.asked("reader"))]
    assert all("What is true of this user?" in one or "in which of these states" in one
               for one in scene.asked("reader"))


def test_a_life_that_breaks_a_rule_is_corrected_or_discarded(scene: Scene) -> None:
    broken = {"months later": {"changes": {"helper": "a robot"}}, "Write the evenings": {"sessions": []}}

    def errs(question: str) -> Any:
        return next((says for about, says in broken.items() if about in question and "was not taken" not in question),
                    keeper.answer(question))

    job = written(scene, named(scene, "hasty", errs))
    assert (job.state, job.report["lives"]) == ("done", [{"number": 0, "corrections": 5, "refinements": 0}])
    assert job.report["refusals"]["life 0: changes of period 2"] == [
        "changes.helper: 'a robot' is none of nobody, a daughter"]
    job = written(scene, named(scene, "rambling", lambda _: "I would rather talk about bees."))
    assert "no life was accepted (tried: 2 times: user: expected a JSON object. " in str(job.reason)
    assert len(job.report["refusals"]["life 1: user"]) == 5
    with pytest.raises(NotFound, match="has made no rows"):
        scene.hone.made_rows(job.id)


def test_what_cannot_be_made_is_refused_by_its_field(scene: Scene) -> None:
    named(scene, "good", fitting.answer)
    with pytest.raises(Refused, match=r"validator: found \"?good\"?, expected no value without an author"):
        scene.hone.make_desk_tasks("x", "y", None, {"endpoint": "good"})
    with pytest.raises(Refused, match=r"tasks: found 65, expected at most 64 tasks"):
        scene.hone.make_desk_tasks("x", "y", {"endpoint": "good"}, tasks=65)
    with pytest.raises(Refused, match=r"validator\.endpoint: found \"nobody\""):
        scene.hone.make_desk_tasks("x", "y", {"endpoint": "good"}, {"endpoint": "nobody"})
    with pytest.raises(Refused, match=r"sizes\.periods: found 51"):
        scene.hone.make_lives("x", "y", {"endpoint": "good"}, sizes={"periods": 51})
    with pytest.raises(Refused, match=r"tasks: found 65, expected at most 64 lives"):
        scene.hone.make_lives("x", "y", {"endpoint": "good"}, lives=65)
