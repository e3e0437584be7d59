"""Benchmarks over REST: a model is examined by frozen tasks, and checkpoints are compared by the answers."""

from typing import Any

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client import Client
from hone.client import errors as client_errors
from hone.environments.benchmarks import BENCHMARKS, BenchmarkItem
from tests.integration.gateway import benchmark_rows, seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

DESK = BENCHMARKS["desk"]


def perfect(_place: int, _item: BenchmarkItem) -> tuple[float, dict[str, float]]:
    return 1.0, {"first_pass": 1.0, "tool_calls": 5.0}


def halved(_place: int, _item: BenchmarkItem) -> tuple[float, dict[str, float]]:
    return 0.5, {"tool_calls": 5.0, "fault.refused": 1.0, "failure.not_attempted": 1.0}


def test_a_model_is_examined_by_a_run_that_trains_nothing(hone: Client, base: str) -> None:
    lines = {"name": "tool_loop", "params": {"syntax": "line"}}
    run = hone.examine("desk", base, samples=2, max_tokens=64, harness=lines)
    assert (run.steps, run.name) == (0, f"desk benchmark of {base}")
    assert run.spec["eval"]["source"]["dataset"] == DESK.dataset
    assert (run.spec["eval"]["samples"], run.spec["harness"]["params"]["syntax"]) == (2, "line")
    assert hone.dataset(DESK.dataset).rows == 42
    again = hone.examine("desk", base)
    assert again.id != run.id
    assert [one.name for one in hone.datasets().data].count(DESK.dataset) == 1


@pytest.mark.parametrize(("wanted", "field"), [
    ({"model": "nothing"}, "model"), ({"max_tokens": 2**30}, "max_tokens"), ({"samples": 0}, "samples"),
    ({"harness": {"name": "none"}}, "harness.name"), ({"noise": {"types": ["fog"]}}, "noise.types")])
def test_what_is_wrong_is_named_as_it_was_asked(hone: Client, base: str, wanted: dict[str, Any], field: str) -> None:
    with pytest.raises(client_errors.Refused) as refused:
        hone.examine("desk", **{"model": base, **wanted})
    assert any(problem.field.startswith(field) for problem in refused.value.problems), refused.value.problems
    with pytest.raises(client_errors.NotFound, match="there are desk"):
        hone.examine("chess", base)


def test_checkpoints_are_compared_and_others_see_none(
    hone: Client, other: Client, base: str, postgres: TestDatabase, gateway: Gateway, tenant: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = {"environment": "desk", "dataset": DESK.dataset}
    hone.examine("desk", base)
    trained = hone.create_run(seed.spec(base, name="trained", task={"environment": "desk"}, eval={"source": source}))
    examined = hone.examine("desk", base, name="examined")
    benchmark_rows.answer(postgres.owner_url, DESK, trained, halved)
    benchmark_rows.answer(postgres.owner_url, DESK, trained, perfect, step=3)
    groups = benchmark_rows.answer(postgres.owner_url, DESK, examined, halved)
    found = hone.leaderboard("desk")
    assert [(one.rank, one.model, one.score.value) for one in found.standings] == [
        (1, f"{trained.id}@3", 100.0), (2, base, 50.0)]
    assert found.standings[1].behind.real
    assert found.standings[1].reliability.failed == 0.2
    assert found.differing == ["max_tokens"]
    assert [one.step for one in hone.leaderboard("desk", evaluations="all").standings] == [3, 0, 0]
    assert hone.leaderboard("desk", "greedy").standings == []
    shown = hone.examination("desk", examined.id)
    assert [one.group_id for one in shown.answers] == groups
    assert hone.examination("desk", trained.id, step=0).standing.score.value == 50
    assert other.leaderboard("desk").standings == []
    with pytest.raises(client_errors.NotFound):
        other.examination("desk", examined.id)
    with pytest.raises(client_errors.NotFound, match="after step 2"):
        hone.examination("desk", trained.id, step=2)
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)
    printed = CliRunner().invoke(app, ["benchmark", "leaderboard", "desk"]).stdout
    assert f"{trained.id}@3" in printed
    assert "not attempted" in CliRunner().invoke(app, ["benchmark", "show", "desk", examined.id]).stdout
    assert DESK.version in CliRunner().invoke(app, ["benchmark", "list"]).stdout
