"""Groups of a run: requested, expired, or refused because they can never become ready."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hone.graders.deviation import JUDGED
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import collections
from hone.resolution import sources
from hone.spec.noise import EvalNoise, NoiseSpec
from hone.spec.run import RunSpec, Slot
from hone.store.database import Row, Transaction
from hone.trajectory.order import Order, PrivilegedText, Role, Voice
from services.learner.driver.budgets import Granted
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Task
from services.learner.driver.reporting import Event, record_event

CHAT = Slot(name="chat")
"""The harness of a run whose spec names none."""

_ROUNDS = 10
"""A run fails if more than this many times a step's groups were refused for one step."""


def request_groups(
    transaction: Transaction, lease: RunLease, purpose: str, first: int, step: int, version_id: str | None,
    tasks: Sequence[Task], granted: Sequence[Granted], sampling: Callable[[RunSpec], dict[str, Any]], series: str = "",
    traceparent: str | None = None, kind: str = "generate", harness_params: Mapping[str, Any] | None = None,
    noise: NoiseSpec | None = None,
) -> int:
    """Insert one requested group, with its order, for each task; return how many groups are new.

    The groups are numbered from `first`. Without `version_id` the newest version samples them. `lease.spec` is the
    spec of the step's stage, and `sampling` returns the sampling parameters by the spec of a task's source. Its
    harness gets `harness_params` besides those of the spec. Held-out tasks have the noise of their own source, or else
    `noise`; those of the run's task are clean without it. With max_staleness above 0 a group has a deadline of its
    own besides the run's.
    """
    spec = lease.spec
    trains, found = purpose == "train", sources.held_out(spec) if purpose == "eval" else sources.of(spec)
    of = {one.name: one.spec for one in found}
    noises = {one.name: one.spec.task.noise if trains or one.held_out_alone else None for one in found}
    texts = [PrivilegedText(**one.model_dump()) for one in spec.contexts.privileged if trains]
    max_positions, roles = _models(transaction, lease, trains)
    voices = {role: Voice(endpoint=name, **spec.roles.asked[role].sampling)
              for role, name in spec.roles.endpoints.items()}
    pinned = _pinned(transaction, lease, of.values())
    harnesses = {name: one.harness or CHAT for name, one in of.items()}
    orders = [
        Order(purpose=purpose, request_no=first + place, step=step, n=own.rollouts,
              task=_with_noise(noise or noises[task.source], task, f"{spec.seed}/{first + place}" if trains else ""),
              task_hash=task.content_hash, source=task.source, seed=spec.seed, sampling=sampling(of[task.source]),
              grader=of[task.source].grader if kind == "generate" else None,
              harness=harnesses[task.source].name,
              harness_params={**harnesses[task.source].params, **(harness_params or {})},
              collections=pinned[harnesses[task.source].name], chat=spec.chat, model_id=lease.model_id,
              max_positions=max_positions, version_id=version_id, waves=own.waves, budget=own.budget,
              sampled=None if task.sampled is None else dict(task.sampled), roles=roles, voices=voices,
              privileged=texts, traceparent=traceparent, deviation_judge=_deviation_judge(noise),
              packages=spec.packages)
        for place, (task, own) in enumerate(zip(tasks, granted, strict=True))]
    return transaction.run(
        "groups.request", tenant_id=lease.tenant_id, run_id=lease.run_id, kind=kind, series=series,
        deadline_s=spec.group_deadline_s if spec.max_staleness else spec.deadline_s,
        orders=[order.model_dump_json() for order in orders])


def _deviation_judge(noise: NoiseSpec | None) -> str | None:
    """Return who judges whether noise led the policy away; None: nobody, or noise that no judge is asked about."""
    return noise.judge if isinstance(noise, EvalNoise) and not JUDGED.isdisjoint(noise.types) else None


def _with_noise(noise: NoiseSpec | None, task: Task, draw: str) -> dict[str, Any]:
    """Return a task with noise, if there is some for it.

    Held-out tasks (an empty `draw`) have the same noise in each evaluation.
    """
    own = noise.of_task(f"{draw}/{task.content_hash}") if noise else None
    return task.body if own is None else {**task.body, "noise": own.model_dump()}


def _models(transaction: Transaction, lease: RunLease, trains: bool) -> tuple[int | None, dict[str, Role]]:
    """Return the policy's positions, and the models beside it that a group calls.

    The teacher is among them only if the group's samples are trained on.
    """
    rows = transaction.all("runs.named_models", run_id=lease.run_id)
    roles = {row["role"]: Role(model_id=row["model_id"], max_positions=row["max_positions"]) for row in rows}
    policy, teacher, spec = roles.pop("policy"), roles.pop("teacher", None), lease.spec.roles.teacher
    if trains and teacher and spec:
        roles["teacher"] = Role(model_id=teacher.model_id, top_k=spec.top_k)
    return policy.max_positions, roles


def _pinned(transaction: Transaction, lease: RunLease, specs: Iterable[RunSpec]) -> dict[str, dict[str, int]]:
    """Return, for each harness of these specs, the newest committed version of each collection that it reads."""
    named = {name: collections(HARNESSES.get(name)) for name in {(spec.harness or CHAT).name for spec in specs}}
    names = sorted(frozenset[str]().union(*named.values()))
    rows = transaction.all("collections.committed", run_id=lease.run_id, names=names) if names else []
    newest = dict.fromkeys(names, 0) | {row["name"]: row["version"] for row in rows}
    return {harness: {name: newest[name] for name in sorted(own)} for harness, own in named.items()}


def next_request(transaction: Transaction, lease: RunLease, purpose: str) -> int:
    """Return the first request number of this purpose that no group has."""
    row = transaction.one("groups.next_request_no", run_id=lease.run_id, purpose=purpose)
    return int(row["request_no"]) if row else 0


def train_sampling(spec: RunSpec) -> dict[str, Any]:
    """Return the sampling parameters of training, as a group's order has them."""
    return spec.sampling.model_dump()


def expire(transaction: Transaction, lease: RunLease, purpose: str, oldest: int) -> list[Row]:
    """Drop groups past their deadline, and groups that a version older than `oldest` sampled; return them."""
    gone = transaction.all("groups.expire", run_id=lease.run_id, purpose=purpose, oldest=oldest)
    if gone:
        transaction.run("journal.delete_dropped", run_id=lease.run_id)
    return gone


def record_expiry(
    transaction: Transaction, lease: RunLease, gone: Sequence[Row], step: int | None = None, subject: str = "",
) -> None:
    """Record the event that these groups expired, and for each of them what it waited for last."""
    groups = [{"request_no": row["request_no"], "waited_for": row["waited_for"]} for row in gone]
    record_event(transaction, lease, Event("expired", subject + expiry(gone), {"groups": groups}), step)


def expiry(gone: Sequence[Mapping[str, Any]]) -> str:
    """Return the message about groups that expired: how many for each cause."""
    late = Counter(row["waited_for"] or "" for row in gone if row["ready_at"] is None)
    causes = [f"{_groups(count)} not ready within the deadline" + (f": {cause}" if cause else "")
              for cause, count in sorted(late.items())]
    if stale := len(gone) - late.total():
        causes.append(f"{_groups(stale)} staler than training may go on with")
    return "; ".join(causes)


def _groups(count: int) -> str:
    return "1 group was" if count == 1 else f"{count} groups were"


def drop_refused(transaction: Transaction, lease: RunLease) -> None:
    """Drop groups that can never become ready, for what is in them, and record why.

    As long as no group of a purpose was ready (for evaluation and probes: of its step), its refused groups stay: if
    all of them are refused, the run fails. Raises ValueError if more than `_ROUNDS` times a step's groups were refused.
    """
    gone = transaction.all("groups.drop_refused", run_id=lease.run_id)
    transaction.run("journal.delete_dropped", run_id=lease.run_id)
    for group in gone:
        message = f"{group['purpose']} group {group['request_no']} is left out: {group['refused']}"
        record_event(transaction, lease, Event("refused", message))
        _check_bound(transaction, lease, group)


def _check_bound(transaction: Transaction, lease: RunLease, group: Row) -> None:
    counted = transaction.one("groups.count_refused", run_id=lease.run_id, purpose=group["purpose"], step=group["step"])
    most = _ROUNDS * lease.spec.batch.prompts * (1 + lease.spec.max_staleness)
    if group["purpose"] != "eval" and counted and counted["groups"] > most:
        raise ValueError(f"more than {most} groups were refused for step {group['step']}; {group['purpose']} group "
                         f"{group['request_no']}: {group['refused']}")
