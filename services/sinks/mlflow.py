"""MLflow: the experiment `hone` on a tracking server or in a local store, with one MLflow run for each run."""

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

from services.sinks.contract import LibraryMissing, Point, SinkAway

EXPERIMENT = "hone"
TAG = "hone.run_id"
_BATCH = 500
_ENDS = {"succeeded": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}


class Mlflow:
    """Logs points with the time of their recording. MLflow keeps equal points of equal time only once."""

    def __init__(self, tracking_uri: str) -> None:
        try:
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
            from sqlalchemy.exc import SQLAlchemyError
        except ImportError as error:
            raise LibraryMissing("mlflow", "mlflow") from error
        self._failures = (MlflowException, SQLAlchemyError, OSError, ImportError)  # ImportError: no driver
        self._opener, self._tracking_uri = MlflowClient, tracking_uri
        self._runs: dict[str, str] = {}

    def write(self, points: Sequence[Point]) -> None:
        try:
            for run_id, of_run in groupby(points, key=lambda point: point.run_id):
                self._log(run_id, list(of_run))
        except self._failures as error:
            raise SinkAway(str(error)) from error

    def end(self, run_id: str, run_name: str, state: str) -> None:
        try:
            there = self._runs.pop(run_id, None) or self._found(self._experiment(), run_id)
            if there is not None:
                self._client.set_terminated(there, _ENDS[state])
        except self._failures as error:
            raise SinkAway(str(error)) from error

    def close(self) -> None:
        self._runs.clear()

    @cached_property
    def _client(self) -> Any:
        """The client. It opens at its first use, because a database's client connects at once."""
        return self._opener(self._tracking_uri)

    def _log(self, run_id: str, points: list[Point]) -> None:
        from mlflow.entities import Metric

        if run_id not in self._runs:
            self._runs[run_id] = self._opened(points[0])
        metrics = [Metric(point.name, point.value, int(1000 * point.at), point.step) for point in points]
        try:
            for first in range(0, len(metrics), _BATCH):
                self._client.log_batch(self._runs[run_id], metrics=metrics[first:first + _BATCH])
        except self._failures:
            del self._runs[run_id]  # it may have been deleted there: search for it again
            raise

    def _opened(self, point: Point) -> str:
        """Return the MLflow run that has the run's id as its tag, or else a new one."""
        experiment = self._experiment()
        if (found := self._found(experiment, point.run_id)) is not None:
            return found
        made = self._client.create_run(
            experiment, start_time=int(1000 * point.at), tags={TAG: point.run_id}, run_name=point.run_name)
        return str(made.info.run_id)

    def _found(self, experiment: str, run_id: str) -> str | None:
        found = self._client.search_runs([experiment], filter_string=f"tags.`{TAG}` = '{run_id}'", max_results=1)
        return str(found[0].info.run_id) if found else None

    def _experiment(self) -> str:
        found = self._client.get_experiment_by_name(EXPERIMENT)
        return str(found.experiment_id) if found else str(self._client.create_experiment(EXPERIMENT))
