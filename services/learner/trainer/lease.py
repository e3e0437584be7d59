"""The trainer's lease of a model."""

from dataclasses import dataclass
from typing import Any, ClassVar

from hone.store.database import Database
from hone.store.leases import Table


@dataclass(frozen=True)
class ModelLease:
    """A model, and the epoch that every write of its holder names."""

    table: ClassVar[Table] = "models"
    model_id: str
    tenant_id: str
    config: dict[str, Any]
    snapshot_seq: int
    snapshot: dict[str, Any] | None
    epoch: int
    takedowns: int = 0  # trainers in a row that ended during their first unit of the model

    @property
    def row_id(self) -> str:
        return self.model_id


def acquire(database: Database, owner: str, lease_s: float) -> ModelLease | None:
    """Lease the model whose oldest queued operation has waited longest, of the tenant with the fewest leased models.

    Return None if none can be leased.
    """
    row = database.one("models.lease", owner=owner, lease_s=lease_s)
    if row is None:
        return None
    return ModelLease(
        row["id"], row["tenant_id"], row["config"], row["snapshot_seq"], row["snapshot"], row["lease_epoch"],
        row["takedowns"])
