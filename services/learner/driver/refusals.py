"""Groups that nobody will ever make ready, for what is in them: dropped, and others asked for in their place."""

from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from services.learner.driver.lease import RunLease
from services.learner.driver.view import View

_ROUNDS = 10
"""A step asks so often for other groups until the run fails."""


def drop_refused(database: Database, lease: RunLease, now: View) -> bool:
    """Drop what was refused and tell why; False where nothing was.

    While no group of a purpose was ready yet (for evaluation and probes: of its step) nothing of it is dropped: where
    all are refused, the run fails. Raises ValueError when a step was refused more than `_ROUNDS` times its groups.
    """
    if not any(count.refused for count in now.counts.values()):
        return False
    with fenced(database, lease) as transaction:
        gone = transaction.all("driver.drop_refused", run_id=lease.run_id)
        transaction.run("driver.forget_journal", run_id=lease.run_id)
        for group in gone:
            _tell(transaction, lease, group)
            _bound(transaction, lease, group)
    return bool(gone)


def _tell(transaction: Transaction, lease: RunLease, group: Row) -> None:
    transaction.run("driver.record_event", tenant_id=lease.tenant_id, run_id=lease.run_id, kind="refused", step=None,
                    data="{}",
                    message=f"{group['purpose']} group {group['request_no']} is left out: {group['refused']}")


def _bound(transaction: Transaction, lease: RunLease, group: Row) -> None:
    counted = transaction.one("driver.refused", run_id=lease.run_id, purpose=group["purpose"], step=group["step"])
    most = _ROUNDS * lease.spec.batch.prompts * (1 + lease.spec.max_staleness)
    if group["purpose"] != "eval" and counted and counted["groups"] > most:
        raise ValueError(f"more than {most} groups were refused for step {group['step']}; {group['purpose']} group "
                         f"{group['request_no']}: {group['refused']}")
