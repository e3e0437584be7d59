"""Weights & Biases: a project, one W&B run for each run, under the run's own id."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from services.sinks.contract import LibraryMissing, Point, SinkAway

# The machine, code and packages of the process that copies have nothing to do with the run.
_QUIET = {"console": "off", "silent": True, "disable_git": True, "disable_code": True, "x_disable_stats": True,
          "x_disable_meta": True, "x_save_requirements": False}
_ENDS = {"succeeded": 0, "failed": 1, "cancelled": 1}
_LEFT = 1
"""Exit code of a run that goes on elsewhere: W&B takes a preempted one of 0 for finished."""


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
        """Leave runs as preempted, which is W&B's word for what another process goes on with."""
        troubles = [trouble for run in self._runs.values() if (trouble := self._left(run)) is not None]
        self._runs.clear()
        if troubles:
            raise SinkAway(str(troubles[0])) from troubles[0]

    def _left(self, run: Any) -> Exception | None:
        """Return what kept a run from being left."""
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
        """Return the W&B run of a run, opened where it is not."""
        if run_id not in self._runs:
            self._runs[run_id] = self._opened(run_id, run_name)
        return self._runs[run_id]

    def _opened(self, run_id: str, run_name: str) -> Any:
        run = self._wandb.init(
            entity=self._entity or None, project=self._project, id=run_id, name=run_name, resume="allow",
            reinit="create_new", settings=self._wandb.Settings(**_QUIET))
        run.define_metric("*", step_metric="step")
        return run
