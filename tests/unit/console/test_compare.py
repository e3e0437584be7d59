"""Runs side by side: the fields in which specs differ, and the labels of runs."""

from datetime import UTC, datetime

from hone.client.resources import RunSummary
from services.console.pages import compare
from services.console.widgets.charts import labels_of


def test_only_fields_that_differ_are_named_and_the_name_is_none() -> None:
    first = {"name": "a", "steps": 5, "optimizer": {"lr": 1e-3, "betas": [0.9]}, "eval": None}
    second = {"name": "b", "steps": 5, "optimizer": {"lr": 2e-3, "betas": [0.9]}, "eval": {"every": 4}}
    assert list(compare.differences([first, second])) == [
        ("eval", ["null", "–"]), ("eval.every", ["–", "4"]), ("optimizer.lr", ["0.001", "0.002"])]
    assert list(compare.differences([first, {**first, "name": "b"}])) == []


def run(id: str, name: str, seed: int | None) -> RunSummary:
    now = datetime.now(UTC)
    return RunSummary(id=id, name=name, state="running", desired="run", step=0, steps=1, model_id="m", seed=seed,
                      created_at=now, deadline=now)


def test_labels_of_runs_are_seeds_then_names_then_both_then_ids() -> None:
    def labels(*runs: RunSummary) -> list[str]:
        return list(labels_of(runs).values())

    assert labels(run("1", "a", None)) == ["a"]
    assert labels(run("1", "a", 0), run("2", "a", 1)) == ["seed 0", "seed 1"]
    assert labels(run("1", "a", 0), run("2", "b", 0)) == ["a", "b"]
    assert labels(run("1", "a", 0), run("2", "a", 1), run("3", "b", 0)) == ["a, seed 0", "a, seed 1", "b, seed 0"]
    assert labels(run("1", "a", 0), run("2", "a", 0)) == ["1", "2"]


def test_the_path_names_every_run() -> None:
    assert compare.path(["run_a", "run_b"]) == "/runs/compare?run=run_a&run=run_b"
