"""A model's operation log: sequence numbers without gaps, each dedupe key once."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hone import ids
from hone.spec.operations import ForwardBackward, OptimStep, Payload, Save
from hone.store.database import Row, Transaction
from hone.trajectory.plan import StepPlan
from services.learner.driver.lease import RunLease

OPERATION_DEADLINE_S = 86_400.0

Named = tuple[str, Payload]
"""An operation before it is appended: its dedupe key and its payload."""


class DedupeConflict(ValueError):
    """The dedupe key was used with another payload before, or comes twice with different payloads."""

    def __init__(self, key: str) -> None:
        super().__init__(f"dedupe_key {key!r}: found another payload than the one it was first used with")
        self.key = key


def append(transaction: Transaction, tenant_id: str, model_id: str, operations: Sequence[Named]) -> list[Row]:
    """Append in order and return the rows. A key that was appended before returns its row.

    Raises DedupeConflict if a key comes with another payload than before.
    """
    # The lock keeps every other process from appending the same keys between the read and the insert.
    if transaction.one("models.lock", model_id=model_id) is None:
        raise LookupError(f"model {model_id} does not exist")
    wanted = _by_name(operations)
    named = {"tenant_id": tenant_id, "model_id": model_id}
    known = _by_key(transaction.all("operations.by_dedupe_key", dedupe_keys=list(wanted), **named))
    known |= _inserted(transaction, named, {key: body for key, body in wanted.items() if key not in known})
    for key, body in wanted.items():
        if known[key]["payload_sha"] != body.sha:
            raise DedupeConflict(key)
    transaction.run("server.notify", channel="operations", payload=model_id)
    return [known[key] for key, _ in operations]


@dataclass(frozen=True)
class _Body:
    """An operation's kind and payload as its row has them."""

    kind: str
    text: str
    sha: str

    @classmethod
    def of(cls, payload: Payload) -> "_Body":
        text = payload.text()
        return cls(payload.kind, text, hashlib.sha256(text.encode()).hexdigest())


def _by_name(operations: Iterable[Named]) -> dict[str, _Body]:
    bodies: dict[str, _Body] = {}
    for key, payload in operations:
        body = _Body.of(payload)
        if bodies.setdefault(key, body) != body:
            raise DedupeConflict(key)
    return bodies


def _inserted(transaction: Transaction, named: dict[str, str], bodies: dict[str, _Body]) -> dict[str, Row]:
    if not bodies:
        return {}
    return _by_key(transaction.all(
        "operations.append", ids=[ids.new("op") for _ in bodies], count=len(bodies),
        dedupe_keys=list(bodies), kinds=[body.kind for body in bodies.values()],
        payloads=[body.text for body in bodies.values()], payload_shas=[body.sha for body in bodies.values()],
        deadline_s=OPERATION_DEADLINE_S, **named))


def _by_key(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["dedupe_key"]: row for row in rows}


def step_operations(run_id: str, plan: StepPlan) -> list[Named]:
    """Return the operations of a planned step: gradient and optimizer step of each update, and a save at the end."""
    n = plan.n
    updates: list[Named] = [operation for update in range(plan.updates) for operation in (
        (f"step/{n}/forward_backward/{update}", ForwardBackward(run_id=run_id, step=n, update=update)),
        (f"step/{n}/optim_step/{update}", OptimStep(lr=plan.lr, clip_norm=plan.clip_norm)))]
    return [*updates, (f"step/{n}/save", Save(run_id=run_id, step=n, number=n))]


def publish_bases(transaction: Transaction, lease: RunLease) -> None:
    """Append, for the policy and each role's model, the operation that publishes its untrained weights as version 0."""
    for model_id in (lease.model_id, *lease.roles.values()):
        append(transaction, lease.tenant_id, model_id, [("version/0", Save(run_id=lease.run_id, number=0))])
