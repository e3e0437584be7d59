"""The driver's lease of a run: who decides for it now."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import ValidationError

from hone.spec.run import RunSpec
from hone.store.database import Database, Row, Transaction


class LeaseLost(RuntimeError):
    """Another driver holds the run now; whatever was about to be written must not be."""


@dataclass(frozen=True)
class Held:
    """A run, and the epoch that every write of its holder names."""

    run_id: str
    tenant_id: str
    model_id: str
    epoch: int


@dataclass(frozen=True)
class Lease(Held):
    """A run that is held, and what it is to do."""

    spec: RunSpec
    traceparent: str | None = None  # of the request that made the run
    roles: dict[str, str] = field(default_factory=dict)  # model ids beside the policy's, by role


def acquire(database: Database, owner: str, lease_s: float) -> Lease | None:
    """Lease the oldest open run that nobody holds, or return None when there is none.

    One whose stored spec is not understood, written by another release say, fails here.
    """
    row = database.one("driver.lease_run", owner=owner, lease_s=lease_s)
    if row is None:
        return None
    try:
        spec = RunSpec.model_validate(row["spec"])
    except ValidationError as error:
        _fail(database, row, f"the spec is not understood: {error}")
        return None
    return Lease(row["id"], row["tenant_id"], row["policy_model_id"], row["lease_epoch"], spec, row["traceparent"],
                 row["roles"])


def _fail(database: Database, row: Row, reason: str) -> None:
    with database.transaction() as transaction:
        close(transaction, Held(row["id"], row["tenant_id"], row["policy_model_id"], row["lease_epoch"]), "failed",
              reason, "failed")


def close(transaction: Transaction, held: Held, state: str, reason: str | None, dropped: str) -> None:
    """End a run in `state`: what it still waits for is given up, groups with the reason `dropped`."""
    run = {"run_id": held.run_id}
    # Operations, steps, groups: a trainer that commits a step takes them in this order too.
    transaction.run("driver.cancel_operations", **run, reason=f"the run {state}")
    transaction.run("driver.cancel_steps", **run)
    transaction.run("driver.drop_open_groups", **run, reason=dropped)
    transaction.run("driver.forget_journal", **run)
    transaction.run("driver.record_event", **run, tenant_id=held.tenant_id, kind=state, step=None,
                    message=reason or f"run {state}", data="{}")
    transaction.run("driver.set_state", **run, epoch=held.epoch, state=state, reason=reason)
    transaction.run("driver.notify", channel="runs", payload=held.run_id)


def renew(database: Database, lease: Lease, lease_s: float) -> None:
    """Hold the lease for another `lease_s` seconds. Raises LeaseLost."""
    held = database.run("driver.renew_lease", run_id=lease.run_id, epoch=lease.epoch, lease_s=lease_s)
    if not held:
        raise LeaseLost(lease.run_id)


@contextmanager
def fenced(database: Database, lease: Lease) -> Iterator[Transaction]:
    """Open a transaction that only the holder of this epoch can commit. Raises LeaseLost."""
    with database.transaction() as transaction:
        if transaction.one("driver.fence", run_id=lease.run_id, epoch=lease.epoch) is None:
            raise LeaseLost(lease.run_id)
        yield transaction
