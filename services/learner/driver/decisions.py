"""The next action of a run: every action there is, where a step's data may come from, and `decide`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from hone.resolution.stages import Stage
from hone.trajectory.plan import Collected, StepPlan
from services.learner.driver.budgets import Granted
from services.learner.driver.pacing import Outline
from services.learner.driver.peers import Task
from services.learner.driver.reporting import Event
from services.learner.driver.view import ReadySamples, View, situation

# Actions of a run ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """End the run. Its open groups are dropped with the reason `dropped`."""

    state: Literal["succeeded", "failed", "cancelled"]
    reason: str | None
    dropped: str
    event: Event | None = None  # beside that of the end


@dataclass(frozen=True)
class SetState:
    """Pause the run, or let it go on. `reason` is the limit that pauses it; None: its user does."""

    state: Literal["paused", "running"]
    reason: str | None = None


@dataclass(frozen=True)
class PublishBase:
    """Ask the trainer for version 0 of the policy and of each role's model."""


@dataclass(frozen=True)
class DropRefused:
    """Drop the groups that can never become ready."""


@dataclass(frozen=True)
class RequestEvaluation:
    """Request held-out groups from the version after `step`."""

    step: int
    version_id: str


@dataclass(frozen=True)
class RecordEvaluation:
    """Record the held-out accuracy after `step`."""

    step: int


@dataclass(frozen=True)
class CheckJudge:
    """Ask for the run's check of its judge with this number. `step`: the last planned one."""

    number: int
    step: int
    grader: str  # hash of the grader that asks it


@dataclass(frozen=True)
class Expire:
    """Drop training groups that are past their deadline, and groups that a version older than `oldest` sampled."""

    oldest: int


@dataclass(frozen=True)
class BeginStage:
    """Drop the open training groups of the stage before, and begin this one."""

    stage: Stage


@dataclass(frozen=True)
class Wait:
    """Do nothing until rows change."""

    reason: str


# Actions toward a step -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadSamples:
    """Read the samples of the ready groups for `step` into the view, then decide again."""

    step: int
    purpose: Literal["train", "probe"] = "train"


@dataclass(frozen=True)
class RequestGroups:
    """Request groups for a step: for the run's tasks from place `first_task` on, or to judge items.

    Without `version_id` the newest version samples them.
    """

    step: int
    first_task: int
    count: int
    version_id: str | None
    purpose: Literal["train", "probe", "pilot"] = "train"  # the samples of the others are not trained on
    judged: Collected | None = None  # the items, each with a group of its own; no task of the run is used then


@dataclass(frozen=True)
class PlanStep:
    """Write the plan of a step, and append its operations for the trainer."""

    step: int
    data: Any = None  # of a type of its source's own


@dataclass(frozen=True)
class CollectionVersion:
    """A version of a collection, before it is stored."""

    name: str
    number: int  # the step that it comes with
    items: Sequence[Mapping[str, Any]]
    state: Mapping[str, Any]
    metrics: Mapping[str, float]
    warning: Event | None = None


@dataclass(frozen=True)
class Collect:
    """Store a version of a collection and end the probe groups whose samples it is made of."""

    version: CollectionVersion
    group_ids: Sequence[int]
    metrics: Mapping[str, float]  # of the samples, and of the version


StepAction = ReadSamples | RequestGroups | PlanStep | Collect
RunAction = (
    End | SetState | PublishBase | DropRefused | RequestEvaluation | RecordEvaluation | CheckJudge | Expire | BeginStage
    | Wait)
Action = RunAction | StepAction


# Where a step's data comes from ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupRequest:
    """The content of groups that are about to be requested: one task for each group."""

    tasks: Sequence[Task]
    granted: Sequence[Granted]  # samples of each group
    kind: Literal["generate", "verify"] = "generate"
    harness_params: Mapping[str, Any] = field(default_factory=dict)  # beside those of the spec


@dataclass(frozen=True)
class PlannedStep:
    """A step's plan and the rows that are written with it."""

    plan: StepPlan
    metrics: Mapping[str, float] = field(default_factory=dict)
    filtered_ids: Sequence[int] = ()  # groups that the filter removed
    version: CollectionVersion | None = None
    warnings: Sequence[Event] = ()  # each kind is recorded once for a stage


class StepSource(Protocol):
    """The source of the data of a stage's steps. Each stage has one.

    `next_action` decides, and reads nothing but the view. The other methods read and compute for the action that it
    chose. A source need not override those whose action it never chooses.
    """

    stage: Stage

    def next_action(self, view: View) -> StepAction | None:
        """Return the next action toward a step of this stage; None while the run has to wait."""

    def read_samples(self, action: ReadSamples) -> ReadySamples:
        """Read the samples for the view."""
        raise LookupError(f"{type(self).__name__} has no samples to read for step {action.step}")

    def group_request(self, action: RequestGroups) -> GroupRequest:
        """Return the tasks and rollouts of the groups."""
        raise LookupError(f"{type(self).__name__} has no groups to request for step {action.step}")

    def plan(self, action: PlanStep) -> PlannedStep:
        """Return the step's plan."""

    def prepare(self, view: View) -> None:
        """Compute ahead, while the run waits, the content of the next request. It writes no row."""


# The decision ----------------------------------------------------------------------------------------------------


def decide(outline: Outline, source: StepSource, view: View) -> Action:
    """Return the first action that applies, in this order. `source` is the one of the step after the last planned.

    A run ends if it was cancelled, has failed or is past its deadline, and where its judge is bad. It rests while it is
    paused, by its user or by a limit that is reached. It publishes version 0. Then: drop refused groups; evaluate the
    newest version if that is due; drop expired groups; check the judge if that is due, and wait for the check; begin
    the next stage once the stage before is committed; take the next action toward a step; and succeed once the last
    step is committed and evaluated. Otherwise the run waits.
    """
    return (_end(outline, view) or _pause(view) or _publish(view) or _drop_refused(view) or _evaluate(outline, view)
            or _expire(outline, view) or _check_judge(outline, view) or _begin_stage(source, view)
            or _step(source, view) or _succeed(outline, view) or Wait(situation(view)))


def decide_preflight(outline: Outline, source: StepSource, view: View) -> Action:
    """Return the first action of a preflight that applies. It ends once each of its groups is ready or refused."""
    pilots = view.open("pilot", 1)
    over = End("succeeded", None, "surplus") if pilots.total and not pilots.requested else None
    return (_end(outline, view) or _pause(view) or _publish(view) or _drop_refused(view) or over
            or source.next_action(view) or Wait(situation(view)))


def _end(outline: Outline, view: View) -> End | None:
    if view.desired == "cancel":
        return End("cancelled", "cancelled on request", "cancelled")
    if view.failure is not None:
        return End("failed", view.failure, "failed")
    if view.judge is not None and view.judge.stop is not None:
        return End("failed", view.judge.stop, "failed", view.judge.event)
    if view.past_deadline:
        return End("failed", f"the run's deadline of {outline.deadline_s:.0f} s passed while it waited for "
                   f"{situation(view)}", "failed")
    return None


def _pause(view: View) -> SetState | Wait | None:
    if view.limit is not None:
        paused = view.state == "paused" and view.reason == view.limit.reason
        return Wait(str(view.limit)) if paused else SetState("paused", view.limit.reason)
    if view.desired == "pause":
        paused = view.state == "paused" and view.reason is None
        return Wait(situation(view)) if paused else SetState("paused")
    return None if view.state == "running" else SetState("running")


def _publish(view: View) -> PublishBase | None:
    unpublished = view.unpublished or (view.version_id is None and view.committed == 0)
    return PublishBase() if unpublished and not view.memory.base_requested else None


def _drop_refused(view: View) -> DropRefused | None:
    return DropRefused() if any(count.refused for count in view.counts.values()) else None


def _evaluate(outline: Outline, view: View) -> RequestEvaluation | RecordEvaluation | None:
    step = view.committed
    groups = view.open("eval", step)
    if view.version_id is not None and outline.unevaluated(step, view.memory.evaluated) and not groups.total:
        return RequestEvaluation(step, view.version_id)
    return RecordEvaluation(step) if outline.pace.ends(groups) else None


def _expire(outline: Outline, view: View) -> Expire | None:
    step = view.planned + 1
    return Expire(outline.pace.oldest(step)) if outline.pace.expires(step, view.train) else None


def _check_judge(outline: Outline, view: View) -> CheckJudge | Wait | None:
    """Check the judge before any step is planned that its verdicts would train, and wait as for grades."""
    if view.judge is None or view.planned >= outline.pace.steps:
        return None
    if view.judge.due is not None:
        return CheckJudge(view.judge.due, view.planned, view.judge.grader)
    return Wait(view.judge.waits) if view.judge.waits else None


def _begin_stage(source: StepSource, view: View) -> BeginStage | None:
    """Begin a stage only once the stage before is committed: no group runs ahead into another stage."""
    stage = source.stage
    if view.stage == stage.number or view.committed < stage.first - 1:
        return None
    return BeginStage(stage)


def _step(source: StepSource, view: View) -> StepAction | None:
    return source.next_action(view) if view.stage == source.stage.number else None


def _succeed(outline: Outline, view: View) -> End | None:
    if view.committed < outline.pace.steps or outline.unevaluated(view.committed, view.memory.evaluated):
        return None
    return End("succeeded", None, "surplus")
