"""Weights & Biases: a project with one W&B run for each run, under the run's own id."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from services.sinks.contract import LibraryMissing, Point, SinkAway

# The machine, code and packages of the sinks process have nothing to do with the run.
_QUIET = {"console": "off", "silent": True, "disable_git": True, "disable_code": True, "x_disable_stats": True,
          "x_disable_meta": True, "x_save_requirements": False}
_ENDS = {"succeeded": 0, "failed": 1, "cancelled": 1}
_LEFT = 1
"""Exit code of a run that another process continues. With 0, W&B would show a preempted run as finished."""


class Wandb:
    """Logs one row for each step; the step is a column, and charts use it as their x axis.

    Login, mode and directory come from W&B's own variables (WANDB_API_KEY, WANDB_MODE, WANDB_DIR).
    """

    def __init__(self, project: str) -> None:
        try:
            import wandb
        except ImportError as error:
            raise LibraryMissing("wandb", "wandb") from error
        self._wandb: Any = wandb
        self._failures = (wandb.Error, OSError)
        self._entity, _, self._project = project.rpartition("/")
        self._runs: dict[str, Any] = {}

    def write(self, points: Sequence[Point]) -> None:
        try:
            for run_id, of_run in groupby(points, key=lambda point: point.run_id):
                self._log(run_id, list(of_run))
        except self._failures as error:
            raise SinkAway(str(error)) from error

    def end(self, run_id: str, run_name: str, state: str) -> None:
        try:
            self._run(run_id, run_name).finish(exit_code=_ENDS[state])
        except self._failures as error:
            raise SinkAway(str(error)) from error
        finally:
            self._runs.pop(run_id, None)

    def close(self) -> None:
        """Leave the open runs as preempted: W&B's word for a run that another process continues."""
        errors = [error for run in self._runs.values() if (error := self._leave(run)) is not None]
        self._runs.clear()
        if errors:
            raise SinkAway(str(errors[0])) from errors[0]

    def _leave(self, run: Any) -> Exception | None:
        """Leave a run as preempted; return the error if that fails."""
        try:
            run.mark_preempting()
            run.finish(exit_code=_LEFT)
        except self._failures as error:
            return error
        return None

    def _log(self, run_id: str, points: list[Point]) -> None:
        run = self._run(run_id, points[0].run_name)
        for step, of_step in groupby(points, key=lambda point: point.step):
            run.log({"step": step, **{point.name: point.value for point in of_step}})

    def _run(self, run_id: str, run_name: str) -> Any:
        """Return the W&B run of a run, and open it if it is not open."""
        if run_id not in self._runs:
            self._runs[run_id] = self._opened(run_id, run_name)
        return self._runs[run_id]

    def _opened(self, run_id: str, run_name: str) -> Any:
        run = self._wandb.init(
            entity=self._entity or None, project=self._project, id=run_id, name=run_name, resume="allow",
            reinit="create_new", settings=self._wandb.Settings(**_QUIET))
        run.define_metric("*", step_metric="step")
        return run
