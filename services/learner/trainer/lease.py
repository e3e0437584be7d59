"""The trainer's lease of a model: who may write to it now."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hone.store.database import Database, Transaction


class LeaseLost(RuntimeError):
    """Another trainer holds the model now; whatever was about to be written must not be."""


@dataclass(frozen=True)
class Lease:
    """A model, and the epoch that every write of its holder names."""

    model_id: str
    tenant_id: str
    config: dict[str, Any]
    snapshot_seq: int
    snapshot: dict[str, Any] | None
    epoch: int


def acquire(database: Database, owner: str, lease_s: float) -> Lease | None:
    """Lease the model whose oldest queued operation waits longest, or return None when there is none to lease."""
    row = database.one("trainer.lease_model", owner=owner, lease_s=lease_s)
    if row is None:
        return None
    return Lease(row["id"], row["tenant_id"], row["config"], row["snapshot_seq"], row["snapshot"], row["lease_epoch"])


def renew(database: Database, lease: Lease, lease_s: float) -> None:
    """Hold the lease for another `lease_s` seconds. Raises LeaseLost."""
    held = database.run("trainer.renew_lease", model_id=lease.model_id, epoch=lease.epoch, lease_s=lease_s)
    if not held:
        raise LeaseLost(lease.model_id)


@contextmanager
def fenced(database: Database, lease: Lease) -> Iterator[Transaction]:
    """Open a transaction that only the holder of this epoch can commit. Raises LeaseLost."""
    with database.transaction() as transaction:
        if transaction.one("trainer.fence", model_id=lease.model_id, epoch=lease.epoch) is None:
            raise LeaseLost(lease.model_id)
        yield transaction
