"""Runs on mixtures over REST: what is refused source by source, and the matrix of a run."""

import json
from typing import Any

import pytest
from psycopg import Connection
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client import Client
from hone.client import errors as client_errors
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase

SUMS = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(6) for b in range(6)]


def mixed(base: str, *more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    mixture = [{"name": "sort", "weight": 1, "environment": "sort_digits"}, *more]
    return seed.spec(base, task={"mixture": mixture}, **changes)


def rows(hone: Client, name: str, **changes: str) -> dict[str, Any]:
    lines = "\n".join(json.dumps({**row, **changes}) for row in SUMS)
    hone.upload_dataset(name, lines.encode())
    return {"name": name, "weight": 1, "dataset": name}


def test_datasets_and_references_of_each_source_are_checked_by_its_own_grader(hone: Client, base: str) -> None:
    sums, words = rows(hone, "mixed-sums"), rows(hone, "mixed-words", answer="many")
    found = hone.dry_run(mixed(base, sums, words))
    assert sum("mixed-" in note for note in found.notes) == 4
    graded = {**words, "grader": {"type": "numeric", "reference": "{{ item.answer }}"}}
    with pytest.raises(client_errors.Refused) as refused:
        hone.create_run(mixed(base, sums, graded, {"name": "gone", "weight": 1, "dataset": "gone"}))
    problems = "\n".join(map(str, refused.value.problems))
    assert "task.mixture[3].dataset: found \"gone\"" in problems
    with pytest.raises(client_errors.Refused, match=r"task\.mixture\[2\].*\d+ references and none that is right"):
        hone.create_run(mixed(base, sums, graded))
    with pytest.raises(client_errors.Refused, match=r"task\.mixture\[1\]\.dataset: .* 0 of 36 rows have extra"):
        hone.create_run(mixed(base, {**sums, "grader": {"type": "exact", "reference": "{{ item.extra }}"}}))


def test_a_matrix_is_that_of_the_runs_evaluations(
    hone: Client, other: Client, base: str, postgres: TestDatabase, gateway: Gateway, tenant: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = hone.create_run(mixed(base, {"name": "even", "weight": 1, "environment": "even_digits"}, eval={"samples": 2}))
    with Connection.connect(postgres.owner_url) as connection:
        for step, source, score in ((0, "sort", 0.25), (0, "even", 0.5), (3, "sort", 0.75)):
            connection.execute(
                "INSERT INTO evaluations (run_id, tenant_id, step, source, series, tasks, scores) SELECT id, "
                "tenant_id, %s, %s, 'sampled', '{a,b,c}', ARRAY[%s::float, null, 1.0] FROM runs WHERE id = %s",
                [step, source, score, run.id])
    found = hone.matrix(run.id)
    assert (found.sources, found.samples, found.incomplete) == (["sort", "even"], 2, True)
    assert [[cell.score.value for cell in row.cells] for row in found.rows] == [[0.625, 0.75], [0.875, None]]
    assert (found.rows[1].held_in.value, found.rows[1].cells[0].masked) == (0.25, 1)
    assert hone.matrix(run.id, "greedy").rows[0].cells[0].score.value is None
    with pytest.raises(client_errors.NotFound):
        other.matrix(run.id)
    assert hone.trajectories(run.id, source="sort").data == []
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)
    shown = CliRunner().invoke(app, ["runs", "matrix", run.id]).stdout
    assert "0.875*" in shown
    assert "incomplete: a source has no score after a stage" in shown
