"""Weights & Biases: a project, one W&B run for each run, under the run's own id."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from services.sinks.contract import LibraryMissing, Point, SinkAway

# The machine, code and packages of the process that copies have nothing to do with the run.
_QUIET = {"console": "off", "silent": True, "disable_git": True, "disable_code": True, "x_disable_stats": True,
          "x_disable_meta": True, "x_save_requirements": False}
_ENDS = {"succeeded": 0, "failed": 1, "cancelled": 1}


class Wandb:
    """Logs one row a step, with the step as a column that charts are drawn over.

    Login, mode and directory come from W&B's own variables (WANDB_API_KEY, WANDB_MODE, WANDB_DIR).
    """

    def __init__(self, project: str) -> None:
        try:
            import wandb
        except ImportError as error:
            raise LibraryMissing("wandb", "wandb") from error
        self._wandb: Any = wandb
        self._entity, _, self._project = project.rpartition("/")
        self._runs: dict[str, Any] = {}

    def write(self, points: Sequence[Point]) -> None:
        try:
            for run_id, of_run in groupby(points, key=lambda point: point.run_id):
                self._log(run_id, list(of_run))
        except (self._wandb.Error, OSError) as error:
            raise SinkAway(str(error)) from error

    def end(self, run_id: str, state: str) -> None:
        if run_id in self._runs:
            self._runs.pop(run_id).finish(exit_code=_ENDS[state])

    def close(self) -> None:
        for run in self._runs.values():
            run.finish()
        self._runs.clear()

    def _log(self, run_id: str, points: list[Point]) -> None:
        if run_id not in self._runs:
            self._runs[run_id] = self._opened(points[0])
        for step, of_step in groupby(points, key=lambda point: point.step):
            self._runs[run_id].log({"step": step, **{point.name: point.value for point in of_step}})

    def _opened(self, point: Point) -> Any:
        run = self._wandb.init(
            entity=self._entity or None, project=self._project, id=point.run_id, name=point.run_name, resume="allow",
            reinit="create_new", settings=self._wandb.Settings(**_QUIET))
        run.define_metric("*", step_metric="step")
        return run
