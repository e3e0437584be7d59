"""Knowledge of environments: stored of a run in versions, exported, and copied into runs that begin with it."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client import Client, errors
from hone.client.resources import Run
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

SHELF = {"environment": "hidden_shelf", "params": {"places": 3}}
LEARNED = [{"kind": "rule", "text": "look first", "task": "t1"}, {"kind": "rule", "text": "look first", "task": "t2"},
           {"kind": "error", "text": "wrong shelf", "task": "t1"}]


def spec(base: str, store: str | None = None, **changes: Any) -> dict[str, Any]:
    params = {"knowledge": "build"} if store is None else {"store": store}
    return seed.spec(base, task=SHELF, harness={"name": "map_then_act", "params": params}, eval=None, **changes)


@pytest.fixture(scope="module")
def learner(hone: Client, base: str, postgres: TestDatabase) -> Run:
    """A run that has learned something in its committed step 1, and something in a step that is not committed."""
    run = hone.create_run(spec(base))
    learned(postgres, run, 1, "committed", LEARNED)
    learned(postgres, run, 2, "planned", [{"kind": "rule", "text": "too early", "task": "t3"}])
    return run


def learned(postgres: TestDatabase, run: Run, step: int, state: str, items: list[Any]) -> None:
    with psycopg.connect(postgres.owner_url) as connection:
        connection.execute("INSERT INTO steps (run_id, tenant_id, n, epoch, state, plan, group_ids) SELECT id,"
                           " tenant_id, %s, 1, %s, '{}', '{}' FROM runs WHERE id = %s", (step, state, run.id))
        connection.execute("INSERT INTO collections (run_id, tenant_id, name, version) SELECT id, tenant_id,"
                           " 'knowledge', %s FROM runs WHERE id = %s", (step, run.id))
        for place, item in enumerate(items):
            connection.execute(
                "INSERT INTO collection_items (run_id, tenant_id, name, version, place, body) SELECT id, tenant_id,"
                " 'knowledge', %s, %s, %s FROM runs WHERE id = %s", (step, place, Jsonb(item), run.id))


def test_what_a_run_learned_is_stored_in_versions_and_begins_other_runs(
    hone: Client, base: str, learner: Run, postgres: TestDatabase,
) -> None:
    first = hone.save_knowledge("shelves", learner.id)
    assert (first.version, first.environment, first.step) == (1, "hidden_shelf", 1)
    assert (first.items, first.texts, first.tasks) == (3, 2, 2)
    assert hone.save_knowledge("shelves", learner.id) == first, "equal items are no new version"
    run = hone.create_run(spec(base, "shelves"))
    assert [one.body for one in hone.collection_items(run.id, "knowledge").data] == LEARNED
    learned(postgres, learner, 3, "committed", [{"kind": "action", "text": "take THING", "task": "t4"}])
    second = hone.save_knowledge("shelves", learner.id)
    assert (second.version, second.items, second.step) == (2, 4, 3)
    assert len(hone.collection_items(run.id, "knowledge").data) == 3, "a run keeps what it began with"
    old = hone.create_run(spec(base, "shelves@1"))
    assert [one.id for one in hone.collection_items(old.id, "knowledge").data] == ["0.0", "0.1", "0.2"]
    again = hone.save_knowledge("copied", old.id)
    assert (again.version, again.items, again.step) == (1, 3, 0)
    page = hone.knowledge_items("shelves", limit=3)
    assert [one.text for one in hone.knowledge_items("shelves", after=page.next).data] == ["take THING"]
    assert hone.delete_knowledge("copied").items == 3


@pytest.mark.parametrize(("store", "changes", "problem"), [
    ("nothing", {}, r"harness.params.store: found \"nothing\", expected stored knowledge"),
    ("wrong@9", {}, r"harness.params.store: found \"wrong@9\""),
    ("Wrong!", {}, "harness.params.store"),
    ("wrong", {"task": {"environment": "text_craft", "params": {}}},
     "found wrong, which is of hidden_shelf, expected knowledge of text_craft, as in task"),
    ("wrong", {"stages": [{"name": "a", "until": 1, "harness": {
        "name": "map_then_act", "params": {"store": "wrong@1"}}}]}, "expected the same store as in the run's other"),
])
def test_knowledge_that_does_not_fit_is_refused_by_its_field(
    hone: Client, base: str, learner: Run, store: str, changes: dict[str, Any], problem: str,
) -> None:
    hone.save_knowledge("wrong", learner.id)
    with pytest.raises(errors.Refused, match=problem):
        hone.create_run({**spec(base, store), **changes})


def test_a_run_that_learned_nothing_is_refused(hone: Client, seeded: seed.Seeded) -> None:
    with pytest.raises(errors.Refused, match="a run that has learned nothing yet, expected a run with a harness that "
                       "builds"):
        hone.save_knowledge("shelves", seeded.run.id)


def test_another_tenant_finds_nothing(other: Client, hone: Client, learner: Run) -> None:
    hone.save_knowledge("own", learner.id)
    assert not other.stored_knowledge().data
    for call in (lambda: other.knowledge("own"), lambda: other.knowledge_items("own"),
                 lambda: other.delete_knowledge("own"), lambda: other.save_knowledge("own", learner.id)):
        with pytest.raises(errors.NotFound):
            call()


def test_the_commands(
    learner: Run, gateway: Gateway, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)

    def typed(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["knowledge", *words])
        assert result.exit_code == code, result.output
        return str(result.stdout)

    assert "hidden_shelf" in typed("save", "typed", learner.id)
    assert "typed" in typed("list")
    assert typed("show", "typed").count("rule: look first") == 1
    typed("export", "typed", str(tmp_path / "known.jsonl"))
    written = [json.loads(line) for line in (tmp_path / "known.jsonl").read_text().splitlines()]
    assert [{"kind": one["kind"], "text": one["text"], "task": one["task"]} for one in written[:3]] == LEARNED
    assert "typed" in typed("delete", "typed")
    typed("show", "typed", code=1)
