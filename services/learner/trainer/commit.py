"""The commit of a trained step: one Postgres transaction, after the step's objects are stored."""

import json
from dataclasses import dataclass, field
from typing import Any

from hone.algorithms.method import Metrics
from hone.store.database import Row, Transaction
from hone.trajectory.plan import by_kind
from services.learner.trainer.lease import ModelLease
from services.learner.trainer.training_step import RejectedPlan

_ADDED = ("_s", "_tokens")
"""Endings of the names of metrics that are summed over a step's updates."""


class StaleUnit(RuntimeError):
    """An operation of the unit was finished or cancelled meanwhile. No part of the unit may be committed."""


@dataclass
class Outcome:
    """The results of executing a unit of operations."""

    number: int
    version_id: str
    manifest: dict[str, Any]
    run_id: str | None = None
    step: int | None = None
    kind: str = "generate"
    metrics: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    alarms: list[str] = field(default_factory=list)
    _times: dict[str, int] = field(default_factory=dict)  # how often each metric was added

    def add(self, metrics: Metrics) -> None:
        """Add the metrics of one operation. Over a unit's updates, seconds and token counts are summed.

        Names that end in `max` keep the largest value. All other metrics are means.
        """
        for name, value in metrics.items():
            known, times = self.metrics.get(name, value), self._times.get(name, 0)
            if name.endswith("max"):
                self.metrics[name] = max(known, value)
            elif name.endswith(_ADDED):
                self.metrics[name] = value + (known if times else 0.0)
            else:
                self.metrics[name] = known + (value - known) / (times + 1)
            self._times[name] = times + 1


def commit(transaction: Transaction, lease: ModelLease, operations: list[Row], outcome: Outcome) -> None:
    """Finish the operations, publish the version, commit the step, use its groups, record metrics and usage.

    The transaction must be fenced. Raises StaleUnit if an operation is no longer queued, and RejectedPlan if the
    version's number is taken or this model has no such planned step.
    """
    _finish(transaction, operations, outcome)
    _publish(transaction, lease, operations[-1]["seq"], outcome)
    if outcome.run_id is not None and outcome.step is not None:
        _commit_step(transaction, lease, outcome)
    transaction.run("server.notify", channel="versions", payload=lease.model_id)


def _publish(transaction: Transaction, lease: ModelLease, seq: int, outcome: Outcome) -> None:
    if taken := transaction.one("versions.numbered", model_id=lease.model_id, number=outcome.number):
        raise RejectedPlan(f"version {outcome.number} of {lease.model_id}: found {taken['id']} of that number")
    parent = transaction.one("versions.newest", model_id=lease.model_id)
    transaction.run(
        "versions.add", id=outcome.version_id, tenant_id=lease.tenant_id, model_id=lease.model_id, seq=seq,
        number=outcome.number, parent_id=parent and parent["id"], manifest=json.dumps(outcome.manifest))


def _finish(transaction: Transaction, operations: list[Row], outcome: Outcome) -> None:
    result = json.dumps({"version_id": outcome.version_id, "metrics": outcome.metrics})
    finished = transaction.run("operations.finish", ids=[row["id"] for row in operations], result=result)
    if finished < len(operations):
        raise StaleUnit(f"{len(operations) - finished} of operations {operations[0]['seq']} to "
                        f"{operations[-1]['seq']} are no longer queued")


def _commit_step(transaction: Transaction, lease: ModelLease, outcome: Outcome) -> None:
    named = {"model_id": lease.model_id, "run_id": outcome.run_id, "n": outcome.step}
    if not transaction.run("steps.commit", version_id=outcome.version_id, **named):
        raise RejectedPlan(f"step {outcome.step} of {outcome.run_id}: found none of this model that is planned")
    transaction.run("groups.use_planned", **named)
    transaction.run(
        "metrics.record", run_id=outcome.run_id, tenant_id=lease.tenant_id, step=outcome.step,
        names=list(by_kind(outcome.kind, outcome.metrics)), values=list(outcome.metrics.values()))
    transaction.run("usage.add", run_id=outcome.run_id, kinds=list(outcome.usage),
                    amounts=list(outcome.usage.values()))
    for alarm in outcome.alarms:
        transaction.run("events.add_of_step", tenant_id=lease.tenant_id, run_id=outcome.run_id, kind="alarm",
                        step=outcome.step, message=alarm, data="{}")
    transaction.run("server.notify", channel="steps", payload=outcome.run_id)
