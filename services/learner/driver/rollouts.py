"""The step source of rollouts: groups are requested, and each step trains on samples of ready groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hone.algorithms.slots import needs
from hone.resolution import scores
from hone.resolution.stages import Stage
from hone.store.database import Database, Row
from hone.trajectory.plan import StepPlan
from services.learner.driver import sample_warnings
from services.learner.driver.budgets import Budgets, Granted, records
from services.learner.driver.decisions import (
    GroupRequest,
    PlannedStep,
    PlanStep,
    ReadSamples,
    RequestGroups,
    StepSource,
)
from services.learner.driver.lease import RunLease
from services.learner.driver.manifests import Manifest, Manifests
from services.learner.driver.pacing import Outline
from services.learner.driver.peers import Peers, Task
from services.learner.driver.planning import Choice, choose, rollout_plan, with_budgets, with_components, with_samplings
from services.learner.driver.reporting import Event
from services.learner.driver.tasks import Tasks
from services.learner.driver.view import ReadySamples, View


@dataclass(frozen=True)
class PreparedRequest:
    """The tasks of the next request, made ahead while the run waits, and their rollouts once these can be known."""

    first: int
    tasks: Sequence[Task]
    manifest: Manifest | None  # that they were drawn by
    granted: Sequence[Granted] | None = None


class Rollouts(StepSource):
    """Requests groups as far ahead as staleness and stage allow, and plans a step once enough groups are ready."""

    def __init__(
        self, stage: Stage, outline: Outline, slots: dict[str, Any], database: Database, peers: Peers, lease: RunLease,
        tasks: Tasks,
    ) -> None:
        """`lease` holds the spec of the stage."""
        self.stage, self._outline, self._pace, self._slots = stage, outline, outline.pace, slots
        self._database, self._peers, self._lease, self._tasks = database, peers, lease, tasks
        self._prepared: PreparedRequest | None = None
        self._manifests = Manifests(stage, slots, database, lease.run_id)
        self._bounds, self._budgets = scores.bounds(stage.spec), Budgets(stage, slots, peers, lease.run_id)

    def next_action(self, view: View) -> ReadSamples | RequestGroups | PlanStep | None:
        """Request the groups that are missing; else plan the next step if enough groups are ready."""
        if view.version_id is not None and not view.unpublished and (self._pace.runs_ahead or not _trains(view)):
            missing = self._room(view) - view.train.total
            if missing > 0:
                return self._request(view, missing)
        return self._choose(view, view.planned + 1)

    def _choose(self, view: View, step: int) -> ReadSamples | RequestGroups | PlanStep | None:
        if not self._pace.plannable(step, view.committed) or view.unpublished or self._pace.waits(step, view.train):
            return None
        begun = self._pace.before(step + 1) - self._pace.before(view.committed + 1)
        if self._outline.unevaluated(step - 1, view.memory.evaluated) or self._room(view) < begun:
            return None
        if view.samples is None:
            return ReadSamples(step)
        size = self._pace.size(step)
        choice = choose(list(view.samples.rows), self._slots, size, view.samples.states, self._bounds)
        if len(choice.kept) == size:
            return PlanStep(step, choice)
        # Groups that the filter removes take no room: others are requested beside groups that are slow.
        lacking = min(self._room(view) - view.train.total + len(choice.filtered),
                      self._most_groups - view.train.total)
        if lacking > 0:
            return self._request(view, lacking)
        return None if view.train.requested else PlanStep(step, choice)

    def _room(self, view: View) -> int:
        """Return how many groups may be open. No more run ahead than the budget pays for, but one step is begun."""
        room = self._pace.room(view.committed, self.stage.last)
        return room if view.affordable is None else min(room, max(self._pace.size(view.committed + 1), view.affordable))

    def _request(self, view: View, count: int) -> RequestGroups:
        pinned = None if self._pace.runs_ahead else view.version_id
        return RequestGroups(view.committed + 1, view.memory.next_task, count, pinned)

    @property
    def _most_groups(self) -> int:
        """Groups that may be open for a step, with those that its filter may remove."""
        spec, rounds = self.stage.spec, self._slots["filter"]["params"].get("max_rounds", 0)
        return spec.batch.prompts * (1 + spec.max_staleness + int(rounds))

    def read_samples(self, action: ReadSamples) -> ReadySamples:
        """Read the ready samples, with the parts of their rewards if the advantage reads those, and slot states."""
        rows = ready_samples(self._database, self._lease, action.purpose, action.step)
        if "components" in needs(self._slots, "advantage"):
            rows = with_components(rows, self._database.all(
                "grades.components", group_ids=sorted({row["group_id"] for row in rows})))
        if records(self._slots):
            rows = with_budgets(rows, self._database.all(
                "groups.budgets", group_ids=sorted({row["group_id"] for row in rows})))
        if self._manifests.used:
            rows = with_samplings(rows, self._database.all(
                "groups.sampled", group_ids=sorted({row["group_id"] for row in rows})))
        states = self._database.one("steps.slot_states", run_id=self._lease.run_id, first=self.stage.first,
                                    n=action.step - 1)
        return ReadySamples(rows, states["states"] if states else {})

    def group_request(self, action: RequestGroups) -> GroupRequest:
        """Return the next tasks of the run, and how many rollouts each gets."""
        prepared, self._prepared = self._prepared, None
        prepared = self._drawn(prepared, action.first_task, action.count, action.step)
        return GroupRequest(prepared.tasks, prepared.granted or self._budgets.grant(prepared.tasks, action.step))

    def _drawn(self, made: PreparedRequest | None, first: int, count: int, step: int) -> PreparedRequest:
        """Return the tasks at these places for a step: those that are made already, if they are the same."""
        manifest = self._manifests.of_step(step)
        if made is not None and made.manifest is manifest and (made.first, len(made.tasks)) == (first, count):
            return made
        return PreparedRequest(first, self._tasks.train(first, count, manifest), manifest)

    def plan(self, action: PlanStep) -> PlannedStep:
        """Plan the step over the chosen groups."""
        choice: Choice = action.data
        plan, metrics = self.plan_over(action.step, choice)
        return PlannedStep(plan, metrics, choice.filtered_ids, warnings=self.warnings(action.step, choice))

    def warnings(self, step: int, choice: Choice) -> list[Event]:
        """Return the warnings about the samples of a step."""
        return sample_warnings.of_step(self.stage.spec, self.stage.name, self._pace.size(step), choice)

    def plan_over(self, step: int, choice: Choice) -> tuple[StepPlan, dict[str, float]]:
        """Return the plan of a step over these groups, and the metrics of its data."""
        return rollout_plan(
            self.stage.spec, self._slots, step, choice,
            lambda hashes: self._peers.baselines(self._lease.run_id, hashes, self.stage.first, step), self.stage.first)

    def prepare(self, view: View) -> None:
        """Draw the tasks of the next request, and allocate their rollouts once this step's outcomes are known."""
        if view.committed + 2 + self._pace.max_staleness > self.stage.last:
            return
        first, step = view.memory.next_task, view.planned + (1 if _trains(view) else 2)
        made = self._drawn(self._prepared, first, self._pace.size(step), step)
        if made.granted is None and _trains(view) and not self._pace.runs_ahead:
            made = replace(made, granted=self._budgets.grant(made.tasks, step))
        self._prepared = made


def ready_samples(database: Database, lease: RunLease, purpose: str, step: int, kind: str = "generate") -> list[Row]:
    """Return the samples of ready groups, requested for a step up to this one, that no step has planned."""
    return database.all("groups.ready_samples", run_id=lease.run_id, purpose=purpose, kind=kind, step=step)


def _trains(view: View) -> bool:
    """Return whether a planned step is not committed yet."""
    return view.planned > view.committed
