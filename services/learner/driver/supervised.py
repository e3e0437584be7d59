"""The step source of supervised rows: each step trains on given completions of a dataset, and nothing is sampled."""

from collections.abc import Sequence
from typing import Any

from hone import ids
from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS
from hone.environments.demonstrations import UnusableRow, trajectories
from hone.resolution.stages import Stage
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.records import Trajectory
from services.learner.driver.decisions import PlannedStep, PlanStep, StepSource
from services.learner.driver.lease import RunLease
from services.learner.driver.pacing import Outline
from services.learner.driver.planning import supervised_plan
from services.learner.driver.tasks import NoTasks, Tasks
from services.learner.driver.view import View

PLAN_AHEAD = 4
"""Supervised steps that may wait for the trainer: enough that it never waits for the driver."""


class SupervisedRows(StepSource):
    """Stores a step's rows as one Parquet part of trajectories, and plans the step over it.

    Prompts and answers are rendered and tokenized with the base's files, as in rollouts.
    """

    def __init__(
        self, stage: Stage, outline: Outline, slots: dict[str, Any], objects: Objects, lease: RunLease, tasks: Tasks,
    ) -> None:
        """`lease` holds the spec of the stage."""
        self.stage, self._outline, self._slots = stage, outline, slots
        self._objects, self._lease, self._tasks = objects, lease, tasks

    def next_action(self, view: View) -> PlanStep | None:
        """Plan the next step if the trainer has few planned steps left."""
        step, ahead = view.planned + 1, PLAN_AHEAD
        if view.affordable is not None:
            ahead = min(ahead, max(1, view.affordable // self._outline.pace.size(view.committed + 1)))
        last = self._outline.last_plannable(view.committed, self.stage.last, view.memory.evaluated, ahead)
        return PlanStep(step) if view.version_id is not None and step <= last else None

    def plan(self, action: PlanStep) -> PlannedStep:
        """Store the rows of the step and plan it."""
        pace, begun = self._outline.pace, self.stage.first
        first = pace.before(action.step) - pace.before(begun)
        part = self._store_part(self._tasks.train_rows(first, pace.size(action.step)), first)
        return PlannedStep(supervised_plan(self.stage.spec, self._slots, action.step, part, begun))

    def prepare(self, view: View) -> None:
        """Do nothing: steps are planned ahead already."""

    def _store_part(self, rows: Sequence[dict[str, Any]], first: int) -> str:
        """Store the rows at places `first …` as one part; return its key. Raises NoTasks if no row can be trained on.

        Unusable rows are left out, and an event names them.
        """
        made, unusable = list[Trajectory](), dict[int, str]()
        for place, row in enumerate(rows, start=first):
            try:
                made += trajectories(row, place, self._columns, self._tasks.text.tokenizer)
            except UnusableRow as error:
                unusable[place] = str(error)
        if unusable:
            self._tasks.record_unusable(list(unusable.values()), len(rows))
        if not made:
            raise NoTasks(f"none of the {len(rows)} rows of a step can be trained on: {next(iter(unusable.values()))}")
        key = f"runs/{self._lease.run_id}/parts/{ids.new('part')}.parquet"
        self._objects.put(key, parts.encode(made))
        return key

    @property
    def _columns(self) -> tuple[str, ...]:
        return BUILDERS[presets.builder_of(self._lease.spec.algorithm)].columns
