"""Groups that end without being trained on: expired, or refused because they can never become ready."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hone.store.database import Row, Transaction
from services.learner.driver.lease import RunLease

_ROUNDS = 10
"""A run fails if more than this many times a step's groups were refused for one step."""


def expire(transaction: Transaction, lease: RunLease, purpose: str, oldest: int) -> list[Row]:
    """Drop groups past their deadline, and groups that a version older than `oldest` sampled; return them."""
    gone = transaction.all("driver.expire_groups", run_id=lease.run_id, purpose=purpose, oldest=oldest)
    if gone:
        transaction.run("driver.forget_journal", run_id=lease.run_id)
    return gone


def record_expiry(
    transaction: Transaction, lease: RunLease, gone: Sequence[Row], step: int | None = None, subject: str = "",
) -> None:
    """Record the event that these groups expired, and for each of them what it waited for last."""
    groups = [{"request_no": row["request_no"], "waited_for": row["waited_for"]} for row in gone]
    transaction.run("driver.record_event", tenant_id=lease.tenant_id, run_id=lease.run_id, kind="expired", step=step,
                    message=subject + expiry(gone), data=json.dumps({"groups": groups}))


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
    gone = transaction.all("driver.drop_refused", run_id=lease.run_id)
    transaction.run("driver.forget_journal", run_id=lease.run_id)
    for group in gone:
        transaction.run(
            "driver.record_event", tenant_id=lease.tenant_id, run_id=lease.run_id, kind="refused", step=None, data="{}",
            message=f"{group['purpose']} group {group['request_no']} is left out: {group['refused']}")
        _check_bound(transaction, lease, group)


def _check_bound(transaction: Transaction, lease: RunLease, group: Row) -> None:
    counted = transaction.one("driver.refused", run_id=lease.run_id, purpose=group["purpose"], step=group["step"])
    most = _ROUNDS * lease.spec.batch.prompts * (1 + lease.spec.max_staleness)
    if group["purpose"] != "eval" and counted and counted["groups"] > most:
        raise ValueError(f"more than {most} groups were refused for step {group['step']}; {group['purpose']} group "
                         f"{group['request_no']}: {group['refused']}")
