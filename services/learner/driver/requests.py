"""Requesting groups: which tasks, how many rollouts each, under which version."""

from collections.abc import Collection, Sequence
from typing import Any

from hone.spec.run import EvalSpec, Slot
from hone.store.database import Database, Transaction
from hone.trajectory.order import Order, PrivilegedText, Role
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Task

CHAT = Slot(name="chat")
"""The harness of a run whose spec names none."""


def request_groups(
    transaction: Transaction, lease: RunLease, purpose: str, first: int, step: int, version_id: str | None,
    tasks: Sequence[Task], rollouts: Sequence[int], sampling: dict[str, Any], series: str = "",
    traceparent: str | None = None, kind: str = "generate",
) -> int:
    """Insert one requested group, with its order, for each task; return how many groups are new.

    The groups are numbered from `first`. Without `version_id` the newest version samples them. `lease.spec` is the
    spec of the step's stage. With max_staleness above 0 a group has a deadline of its own besides the run's.
    """
    spec, harness = lease.spec, lease.spec.harness or CHAT
    trains = purpose == "train"
    texts = [PrivilegedText(text=one.text, match=one.match) for one in spec.contexts.privileged if trains]
    roles = _roles(transaction, lease, trains)
    orders = [
        Order(purpose=purpose, request_no=first + place, step=step, n=n, task=task.body, task_hash=task.content_hash,
              seed=spec.seed, sampling=sampling, grader=spec.grader if kind == "generate" else None,
              harness=harness.name, harness_params=harness.params, model_id=lease.model_id, version_id=version_id,
              roles=roles, privileged=texts, traceparent=traceparent)
        for place, (task, n) in enumerate(zip(tasks, rollouts, strict=True))]
    return transaction.run(
        "driver.request_groups", tenant_id=lease.tenant_id, run_id=lease.run_id, kind=kind, series=series,
        deadline_s=spec.group_deadline_s if spec.max_staleness else spec.deadline_s,
        orders=[order.model_dump_json() for order in orders])


def _roles(transaction: Transaction, lease: RunLease, trains: bool) -> dict[str, Role]:
    """Return the models beside the policy that a group's calls go to; the teacher only where samples are trained on."""
    rows = transaction.all("driver.role_models", run_id=lease.run_id) if lease.roles else []
    roles = {row["role"]: Role(model_id=row["model_id"], max_positions=row["max_positions"]) for row in rows}
    teacher, spec = roles.pop("teacher", None), lease.spec.roles.teacher
    if trains and teacher and spec:
        roles["teacher"] = Role(model_id=teacher.model_id, top_k=spec.top_k)
    return roles


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

