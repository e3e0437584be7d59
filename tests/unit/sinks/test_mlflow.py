"""MLflow with a store in a file: read back by MLflow's own client."""

from pathlib import Path
from typing import Any

import pytest

from services.sinks.contract import Point, SinkAway

pytest.importorskip("mlflow", reason="mlflow is not installed (pip install -e .[mlflow])")

from services.sinks.mlflow import EXPERIMENT, Mlflow


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/mlflow.db"


def points(steps: range, run_id: str = "run_1") -> list[Point]:
    return [Point(run_id, "sort", step, "gap/mean", step / 8, 1000.0 + step) for step in steps]


def history(store: str, run_id: str) -> tuple[Any, list[tuple[int, float]]]:
    from mlflow.tracking import MlflowClient

    client: Any = MlflowClient(store)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    (run,) = client.search_runs([experiment.experiment_id], filter_string=f"tags.`hone.run_id` = '{run_id}'")
    return run, [(one.step, one.value) for one in client.get_metric_history(run.info.run_id, "gap/mean")]


def test_points_that_come_again_are_kept_once_and_a_run_is_found_again(store: str) -> None:
    first = Mlflow(store)
    first.write([*points(range(1, 4)), *points(range(1, 2), "run_2")])
    after_a_crash = Mlflow(store)
    after_a_crash.write(points(range(2, 6)))
    after_a_crash.end("run_1", "sort", "failed")
    run, series = history(store, "run_1")
    assert sorted(series) == [(step, step / 8) for step in range(1, 6)]
    assert (run.info.run_name, run.info.status) == ("sort", "FAILED")
    assert history(store, "run_2")[1] == [(1, 0.125)]


def test_a_run_ends_there_whichever_process_wrote_it_and_one_that_is_gone_is_nothing(store: str) -> None:
    Mlflow(store).write(points(range(1, 3)))
    next_one = Mlflow(store)
    next_one.end("run_1", "sort", "cancelled")
    next_one.end("run_2", "sort", "succeeded")
    assert history(store, "run_1")[0].info.status == "KILLED"


def test_a_store_that_cannot_be_opened_is_away(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sink = Mlflow(f"sqlite:///{tmp_path}/file/mlflow.db")
    with pytest.raises(SinkAway, match="file"):
        sink.write(points(range(1, 2)))
