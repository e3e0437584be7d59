"""The step source of supervised rows: each step trains on given completions of a dataset, and nothing is sampled."""

from collections.abc import Sequence
from typing import Any

from hone import ids
from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS
from hone.resolution.stages import Stage
from hone.store import manifests
from hone.store.database import Database
from hone.store.objects import Objects
from hone.text.tokenizer import Tokenizer
from hone.trajectory import parts
from hone.trajectory.records import Call, Trajectory
from services.learner.driver.decisions import PlannedStep, PlanStep, StepSource
from services.learner.driver.lease import RunLease
from services.learner.driver.pacing import Outline
from services.learner.driver.planning import supervised_plan
from services.learner.driver.tasks import Tasks
from services.learner.driver.view import View

PLAN_AHEAD = 4
"""Supervised steps that may wait for the trainer: enough that it never waits for the driver."""


class SupervisedRows(StepSource):
    """Stores a step's rows as one Parquet part, as trajectories of one call each, and plans the step over it.

    Completions are tokenized with the base's tokenizer.
    """

    def __init__(
        self, stage: Stage, outline: Outline, slots: dict[str, Any], database: Database, objects: Objects,
        lease: RunLease, tasks: Tasks,
    ) -> None:
        """`lease` holds the spec of the stage."""
        self.stage, self._outline, self._slots = stage, outline, slots
        self._database, self._objects, self._lease, self._tasks = database, objects, lease, tasks
        self._tokenizer: Tokenizer | None = None  # read once: a base never changes

    def next_action(self, view: View) -> PlanStep | None:
        """Plan the next step if the trainer has few planned steps left."""
        step = view.planned + 1
        last = self._outline.last_plannable(view.committed, self.stage.last, view.memory.evaluated, PLAN_AHEAD)
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
        """Store the rows at places `first …` as one part; return its key."""
        tokenizer = self._loaded_tokenizer()
        data = parts.encode([made for place, row in enumerate(rows)
                             for made in self._trajectories(row, first + place, tokenizer)])
        key = f"runs/{self._lease.run_id}/parts/{ids.new('part')}.parquet"
        self._objects.put(key, data)
        return key

    def _trajectories(self, row: dict[str, Any], place: int, tokenizer: Tokenizer) -> list[Trajectory]:
        """Return a row's completion, or its chosen and its rejected one."""
        columns = BUILDERS[presets.builder_of(self._lease.spec.algorithm)].columns
        return [_trajectory(row, row[name], place, index, tokenizer) for index, name in enumerate(columns)]

    def _loaded_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            row = self._database.one("models.base_manifest", model_id=self._lease.model_id)
            files = row["manifest"]["files"] if row else {}
            named = {name: entry for name, entry in files.items() if name.endswith(".json") and "index" not in name}
            self._tokenizer = Tokenizer(manifests.get_files(self._objects, {"files": named}))
        return self._tokenizer


def _trajectory(row: dict[str, Any], text: str, place: int, index: int, tokenizer: Tokenizer) -> Trajectory:
    messages = row.get("messages") or [{"role": "user", "content": row["prompt"]}]
    completion = tokenizer.completion_ids(text)
    call = Call(
        index=0, prompt_ids=tokenizer.prompt_ids(messages), completion_ids=completion, logp_sample=[],
        finish_reason="stop", versions=[], text=text, train_mask=[True] * len(completion))
    return Trajectory(
        group_id=0, index=index, request_no=place, task={}, task_hash="", item=row, calls=[call], steps=[], status="ok",
        score=None, grade_id=None)
