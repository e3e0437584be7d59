"""A run's rows at one moment: all that its driver needs in order to decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hone.algorithms.method import State
from hone.algorithms.self_verify import GenerationGroup
from hone.limits import Limit
from hone.store.database import Database, Row
from hone.store.leases import LeaseLost
from services.learner.driver.judge_gate import JudgeStanding
from services.learner.driver.lease import RunLease


@dataclass(frozen=True)
class GroupCount:
    """Open groups of one purpose and step."""

    total: int = 0
    requested: int = 0
    ready: int = 0
    unclaimed: int = 0
    late: int = 0  # requested groups past their deadline
    begun: int | None = None  # number of the oldest version that may be sampling a requested group
    oldest: int | None = None  # number of the oldest version that sampled a ready group that no step has planned
    reason: str | None = None  # why a requested group waits
    refused: int = 0  # requested groups that can never become ready, and of whose purpose another group was ready


_REMEMBERED = 64
"""Evaluations that a driver remembers: decisions ask about the last planned steps only."""


@dataclass(frozen=True)
class Memory:
    """Facts that only the driver of a run changes: read once for a lease, then kept up by the driver itself.

    `evaluated` are the last steps whose weights were evaluated. `next_task` is the place of the first training task
    that no group asks for. `base_requested` is true once this driver has asked for version 0.
    """

    evaluated: frozenset[int] = frozenset()
    next_task: int = 0
    base_requested: bool = False

    def with_evaluated(self, step: int) -> "Memory":
        """Return the memory after the evaluation of the weights after `step`."""
        return replace(self, evaluated=frozenset(sorted({*self.evaluated, step})[-_REMEMBERED:]))


@dataclass(frozen=True)
class ReadySamples:
    """Samples of the ready groups that no step has planned, the stalest first."""

    rows: Sequence[Row]
    states: Mapping[str, State] = field(default_factory=dict)  # state of each slot after the step before
    answers: Sequence[GenerationGroup] = ()  # the samples as texts; read only where the run judges its own answers


@dataclass(frozen=True)
class View:
    """The state of a run. Step numbers are 0 where there is no such step."""

    desired: str
    state: str
    past_deadline: bool
    failure: str | None
    committed: int  # the last committed step
    planned: int  # the last planned step
    stage: int  # number of the stage that was begun last
    version_id: str | None  # of version number `committed`
    trainer_waits: str | None = None  # what a trainer waits for that has operations of the run's models
    unpublished: Sequence[str] = ()  # roles whose model has no version yet
    counts: Mapping[tuple[str, int], GroupCount] = field(default_factory=dict)  # by purpose and step
    collected: Mapping[str, Any] = field(default_factory=dict)  # {collection: {version, state}} of its newest version
    memory: Memory = Memory()
    reason: str | None = None  # why the run is paused, if not by its user
    limit: Limit | None = None  # that is reached
    affordable: int | None = None  # groups that the rest of the budget pays for, at the price of those before
    judge: JudgeStanding | None = None  # None: the run does not check its judge
    samples: ReadySamples | None = None  # None until a decision asks for them

    def open(self, purpose: str, step: int) -> GroupCount:
        """Return the count of open groups of `purpose` that were requested for `step`."""
        return self.counts.get((purpose, step), GroupCount())

    @property
    def train(self) -> GroupCount:
        """Count the open groups for training, of all steps together."""
        return _sum([count for (purpose, _), count in self.counts.items() if purpose == "train"])


def read_view(database: Database, lease: RunLease, memory: Memory) -> View:
    """Read the run's state, without samples. Raises LeaseLost."""
    run = database.one("runs.overview", run_id=lease.run_id, epoch=lease.epoch)
    if run is None:
        raise LeaseLost(lease.run_id)
    return View(
        desired=run["desired"], state=run["state"], past_deadline=run["past_deadline"], failure=run["failure"],
        committed=run["committed"], planned=run["planned"], stage=run["stage"], version_id=run["version_id"],
        trainer_waits=run["trainer_waits"], unpublished=tuple(run["unpublished"]),
        counts={(row["purpose"], row["step"]): _count(row) for row in run["open_groups"]},
        collected=run["collected"], memory=memory, reason=run["reason"])


def read_memory(database: Database, lease: RunLease) -> Memory:
    """Read from rows what a driver remembers of its run."""
    evaluated = database.all("metrics.evaluated_steps", run_id=lease.run_id, most=_REMEMBERED)
    place = database.one("groups.next_task_place", run_id=lease.run_id)
    return Memory(frozenset(row["step"] for row in evaluated), int(place["place"]) if place else 0)


def _count(row: Row) -> GroupCount:
    return GroupCount(row["total"], row["requested"], row["ready"], row["unclaimed"], row["late"], row["begun"],
                      row["oldest"], row["reason"], row["refused"])


def _sum(counts: list[GroupCount]) -> GroupCount:
    begun = [count.begun for count in counts if count.begun is not None]
    oldest = [count.oldest for count in counts if count.oldest is not None]
    return GroupCount(
        total=sum(count.total for count in counts), requested=sum(count.requested for count in counts),
        ready=sum(count.ready for count in counts), unclaimed=sum(count.unclaimed for count in counts),
        late=sum(count.late for count in counts), begun=min(begun, default=None),
        oldest=min(oldest, default=None),
        reason=max((count.reason for count in counts if count.reason), default=None),
        refused=sum(count.refused for count in counts))


def situation(view: View) -> str:
    """Return the reason why the run waits, as its user reads it."""
    trainer = f"; {view.trainer_waits}" if view.trainer_waits else ""
    if view.version_id is None:
        return f"the trainer to publish the base weights{trainer}"
    if view.unpublished:
        return f"the trainer to publish the {view.unpublished[0]}'s weights{trainer}"
    for (purpose, step), count in sorted(view.counts.items()):
        if count.requested:
            waits = f"{count.requested} of {count.total} {purpose} groups of step {step}"
            return f"{waits}; {count.reason}" if count.reason else waits
    if view.planned > view.committed:
        return f"the trainer to commit step {view.committed + 1}{trainer}"
    return "nothing"
