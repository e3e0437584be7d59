"""The driver's lease of a run."""

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ValidationError

from hone.spec.run import RunSpec
from hone.store.database import Database, Row, Transaction
from hone.store.leases import MOST_TAKEDOWNS, Table


@dataclass(frozen=True)
class Held:
    """A run, and the epoch that every write of its holder names."""

    table: ClassVar[Table] = "runs"
    run_id: str
    tenant_id: str
    model_id: str
    epoch: int

    @property
    def row_id(self) -> str:
        return self.run_id


@dataclass(frozen=True)
class Preflight:
    """The size of a preflight: how many of the run's first tasks its base answers, and how often each."""

    tasks: int
    samples: int


@dataclass(frozen=True)
class RunLease(Held):
    """A run that is held, and its spec."""

    spec: RunSpec
    traceparent: str | None = None  # of the request that made the run
    roles: dict[str, str] = field(default_factory=dict)  # ids of the models beside the policy, by role
    preflight: Preflight | None = None  # None: it trains
    takedowns: int = 0  # drivers in a row that ended during their first turn of the run


def acquire(database: Database, owner: str, lease_s: float, room: bool = True) -> RunLease | None:
    """Lease the oldest open run that nobody holds and that has a place (max_runs), or return None if there is none.

    Without `room` in the driver it is a run that is cancelled or past its deadline: it ends in its first turn.

    If its stored spec cannot be read, because another release wrote it for instance, or if it took down two drivers,
    fail the run and return None.
    """
    with database.transaction() as transaction:
        transaction.one("runs.lock_leases")
        row = transaction.one("runs.lease", owner=owner, lease_s=lease_s, room=room)
    if row is None:
        return None
    if row["takedowns"] >= MOST_TAKEDOWNS:
        _fail(database, row, _taken_down(row))
        return None
    try:
        spec = RunSpec.model_validate(row["spec"])
    except ValidationError as error:
        _fail(database, row, f"the spec is not understood: {error}")
        return None
    return RunLease(row["id"], row["tenant_id"], row["policy_model_id"], row["lease_epoch"], spec, row["traceparent"],
                    row["roles"], Preflight(**row["preflight"]) if row["preflight"] else None, row["takedowns"])


def give_way(database: Database, owner: str) -> str | None:
    """Take a run from its driver `owner` if a run waits whose tenant has fewer runs in drivers; return the id of the
    run that was taken.
    """
    with database.transaction() as transaction:
        transaction.one("runs.lock_leases")
        row = transaction.one("runs.give_way", owner=owner)
    return None if row is None else str(row["id"])


def _taken_down(row: Row) -> str:
    waited = f"; it waited for {row['waiting_for']}" if row["waiting_for"] else ""
    return (f"it took down {row['takedowns']} drivers in a row: each one ended while it did its first turn of this run"
            f"{waited}")


def _fail(database: Database, row: Row, reason: str) -> None:
    with database.transaction() as transaction:
        close(transaction, Held(row["id"], row["tenant_id"], row["policy_model_id"], row["lease_epoch"]), "failed",
              reason, "failed")


def close(transaction: Transaction, held: Held, state: str, reason: str | None, dropped: str) -> None:
    """End a run in `state`. Its operations and steps are cancelled, its open groups dropped with reason `dropped`."""
    run = {"run_id": held.run_id}
    # Operations, steps, groups: a trainer that commits a step locks them in this order too.
    transaction.run("operations.cancel", **run, reason=f"the run {state}")
    transaction.run("steps.cancel", **run)
    transaction.run("groups.drop_open", **run, reason=dropped)
    transaction.run("grader_checks.drop_of_run", **run)
    transaction.run("journal.delete_dropped", **run)
    transaction.run("events.add_of_step", **run, tenant_id=held.tenant_id, kind=state, step=None,
                    message=reason or f"run {state}", data="{}")
    transaction.run("runs.set_state", **run, epoch=held.epoch, state=state, reason=reason)
    transaction.run("server.notify", channel="runs", payload=held.run_id)
