"""Requesting groups: which tasks, how many rollouts each, under which version."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from hone.spec.run import EvalSpec, Slot
from hone.store.database import Database, Transaction
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Task


def request_groups(
    transaction: Transaction, lease: RunLease, purpose: str, first: int, step: int, version_id: str | None,
    tasks: Sequence[Task], rollouts: Sequence[int], sampling: dict[str, Any], series: str = "",
    traceparent: str | None = None, kind: str = "generate",
) -> int:
    """Insert one requested group for each task, numbered from `first`; return how many there are now.

    Without a version the newest samples. Where rollouts run ahead the group's own deadline holds besides the run's. The
    run's grader is for its own tasks.
    """
    grader = lease.spec.grader if kind == "generate" else None
    return transaction.run(
        "driver.request_groups", tenant_id=lease.tenant_id, run_id=lease.run_id, purpose=purpose, kind=kind,
        step=step, series=series, sampling=json.dumps(sampling), model_id=lease.model_id, version_id=version_id,
        traceparent=traceparent,
        deadline_s=lease.spec.group_deadline_s if lease.spec.max_staleness else lease.spec.deadline_s,
        grader=None if grader is None else json.dumps(grader),
        request_nos=list(range(first, first + len(tasks))), tasks=[json.dumps(task.body) for task in tasks],
        task_hashes=[task.content_hash for task in tasks], ns=list(rollouts))


def next_request(transaction: Transaction, lease: RunLease, purpose: str) -> int:
    """Return the first number of this purpose that no group has."""
    row = transaction.one("driver.next_request", run_id=lease.run_id, purpose=purpose)
    return int(row["request_no"]) if row else 0


def next_place(database: Database, lease: RunLease) -> int:
    """Return the first place in the run's own tasks that was not asked for."""
    row = database.one("driver.next_place", run_id=lease.run_id)
    return int(row["place"]) if row else 0


def train_sampling(lease: RunLease) -> dict[str, Any]:
    """Return how training samples are drawn, as a group row stores it."""
    return lease.spec.sampling.model_dump()


def eval_series(lease: RunLease) -> dict[str, dict[str, Any]]:
    """Return the sampling of each evaluation series: greedy, and sampled as training does but at temperature 1."""
    base = {"max_tokens": lease.spec.sampling.max_tokens, "top_p": 1.0, "top_k": 0, "stop": lease.spec.sampling.stop}
    return {"greedy": {**base, "temperature": 0.0}, "sampled": {**base, "temperature": 1.0}}


def eval_due(spec: EvalSpec | None, ends: Collection[int], step: int) -> bool:
    """Tell whether the weights after `step` are evaluated: the base, every so often, and each stage's last."""
    return spec is not None and (step % spec.every == 0 or step in ends)


UNIFORM = Slot(name="uniform")
