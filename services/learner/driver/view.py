"""What the rows say about a run at one moment."""

from dataclasses import dataclass

from hone.store.database import Database, Row
from services.learner.driver.lease import Lease, LeaseLost


@dataclass(frozen=True)
class Count:
    """Open groups of one purpose and step."""

    total: int = 0
    requested: int = 0
    ready: int = 0
    unclaimed: int = 0
    reason: str | None = None  # why one of the requested waits


@dataclass(frozen=True)
class View:
    """A run's place: what is wanted of it, its last steps, its open groups, its newest version."""

    desired: str
    state: str
    past_deadline: bool
    failure: str | None
    committed: int
    planned: int
    version_id: str | None  # of version number `committed`
    counts: dict[tuple[str, int], Count]

    def open(self, purpose: str, step: int) -> Count:
        """Return the count of open groups of `purpose` that were requested for `step`."""
        return self.counts.get((purpose, step), Count())


def view(database: Database, lease: Lease) -> View:
    """Look at the run. Raises LeaseLost when it is somebody else's."""
    with database.transaction() as transaction:
        run = transaction.one("driver.overview", run_id=lease.run_id, epoch=lease.epoch)
        if run is None:
            raise LeaseLost(lease.run_id)
        counts = transaction.all("driver.group_counts", run_id=lease.run_id)
    return View(
        desired=run["desired"], state=run["state"], past_deadline=run["past_deadline"], failure=run["failure"],
        committed=run["committed"], planned=run["planned"], version_id=run["version_id"],
        counts={(row["purpose"], row["step"]): _count(row) for row in counts})


def _count(row: Row) -> Count:
    return Count(row["total"], row["requested"], row["ready"], row["unclaimed"], row["reason"])
