"""Appending to a model's lane: sequence numbers without gaps, each dedupe key once."""

import hashlib
import json
from typing import Any

from hone import ids
from hone.store.database import Row, Transaction

OPERATION_DEADLINE_S = 86_400.0


class DedupeConflict(ValueError):
    """The dedupe key is known with another payload."""


def append(
    transaction: Transaction, tenant_id: str, model_id: str, operations: list[tuple[str, str, dict[str, Any]]]
) -> list[Row]:
    """Append `(dedupe_key, kind, payload)` in order and return the rows; a key that is known returns its row.

    Raises DedupeConflict when a known key comes with another payload.
    """
    rows = [_append_one(transaction, tenant_id, model_id, *operation) for operation in operations]
    transaction.run("driver.notify", channel="operations", payload=model_id)
    return rows


def _append_one(
    transaction: Transaction, tenant_id: str, model_id: str, key: str, kind: str, payload: dict[str, Any]
) -> Row:
    body = json.dumps(payload, sort_keys=True)
    sha = hashlib.sha256(body.encode()).hexdigest()
    # Reserving the number first locks the lane, so that nobody appends the same key between the look and the insert.
    reserved = transaction.one("driver.reserve_sequence", model_id=model_id, count=0)
    if reserved is None:
        raise LookupError(f"model {model_id} does not exist")
    known = transaction.one("driver.operation_by_key", tenant_id=tenant_id, model_id=model_id, dedupe_key=key)
    if known is None:
        _insert(transaction, tenant_id, model_id, key, kind, body, sha)
        known = transaction.one("driver.operation_by_key", tenant_id=tenant_id, model_id=model_id, dedupe_key=key)
    if known is None or known["payload_sha"] != sha:
        raise DedupeConflict(f"dedupe_key {key!r}: found another payload than the one it was first used with")
    return known


def _insert(
    transaction: Transaction, tenant_id: str, model_id: str, key: str, kind: str, body: str, sha: str
) -> None:
    reserved = transaction.one("driver.reserve_sequence", model_id=model_id, count=1)
    transaction.run(
        "driver.append_operation", id=ids.new("op"), tenant_id=tenant_id, model_id=model_id,
        seq=reserved and reserved["seq"], dedupe_key=key, kind=kind, payload=body, payload_sha=sha,
        deadline_s=OPERATION_DEADLINE_S)


def step_operations(run_id: str, n: int, lr: float, clip_norm: float) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the operations of a managed step: its gradient, its update, and the save that publishes it."""
    return [
        (f"step/{n}/forward_backward", "forward_backward", {"run_id": run_id, "step": n}),
        (f"step/{n}/optim_step", "optim_step", {"lr": lr, "clip_norm": clip_norm}),
        (f"step/{n}/save", "save", {"run_id": run_id, "step": n, "number": n}),
    ]


def base_operation(run_id: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the operation that publishes the untrained weights as version number 0."""
    return [("version/0", "save", {"run_id": run_id, "number": 0})]
