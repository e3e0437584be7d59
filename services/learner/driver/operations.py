"""Appending to a model's lane: sequence numbers without gaps, each dedupe key once."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hone import ids
from hone.store.database import Row, Transaction
from hone.trajectory.plan import StepPlan

OPERATION_DEADLINE_S = 86_400.0


class DedupeConflict(ValueError):
    """The dedupe key is known with another payload."""


def append(
    transaction: Transaction, tenant_id: str, model_id: str, operations: Sequence[tuple[str, str, dict[str, Any]]]
) -> list[Row]:
    """Append `(dedupe_key, kind, payload)` in order and return the rows; a key that is known returns its row.

    Raises DedupeConflict when a known key comes with another payload.
    """
    # Taking the lane's row first keeps everybody else from appending the same keys between the look and the insert.
    if transaction.one("driver.lock_lane", model_id=model_id) is None:
        raise LookupError(f"model {model_id} does not exist")
    wanted = {key: _Body.of(kind, payload) for key, kind, payload in operations}
    named = {"tenant_id": tenant_id, "model_id": model_id}
    known = _by_key(transaction.all("driver.operations_by_key", dedupe_keys=list(wanted), **named))
    known |= _inserted(transaction, named, {key: body for key, body in wanted.items() if key not in known})
    for key, body in wanted.items():
        if known[key]["payload_sha"] != body.sha:
            raise DedupeConflict(f"dedupe_key {key!r}: found another payload than the one it was first used with")
    transaction.run("driver.notify", channel="operations", payload=model_id)
    return [known[key] for key, _, _ in operations]


@dataclass(frozen=True)
class _Body:
    """What an operation does, as its row has it."""

    kind: str
    text: str
    sha: str

    @classmethod
    def of(cls, kind: str, payload: dict[str, Any]) -> "_Body":
        text = json.dumps(payload, sort_keys=True)
        return cls(kind, text, hashlib.sha256(text.encode()).hexdigest())


def _inserted(transaction: Transaction, named: dict[str, str], bodies: dict[str, _Body]) -> dict[str, Row]:
    if not bodies:
        return {}
    return _by_key(transaction.all(
        "driver.append_operations", ids=[ids.new("op") for _ in bodies], count=len(bodies),
        dedupe_keys=list(bodies), kinds=[body.kind for body in bodies.values()],
        payloads=[body.text for body in bodies.values()], payload_shas=[body.sha for body in bodies.values()],
        deadline_s=OPERATION_DEADLINE_S, **named))


def _by_key(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["dedupe_key"]: row for row in rows}


def step_operations(run_id: str, plan: StepPlan) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the operations of a managed step: gradient and optimizer step of each update, and the save at the end."""
    n = plan.n
    updates = [operation for update in range(plan.updates) for operation in (
        (f"step/{n}/forward_backward/{update}", "forward_backward", {"run_id": run_id, "step": n, "update": update}),
        (f"step/{n}/optim_step/{update}", "optim_step", {"lr": plan.lr, "clip_norm": plan.clip_norm}))]
    return [*updates, (f"step/{n}/save", "save", {"run_id": run_id, "step": n, "number": n})]


def base_operation(run_id: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the operation that publishes the untrained weights as version number 0."""
    return [("version/0", "save", {"run_id": run_id, "number": 0})]
