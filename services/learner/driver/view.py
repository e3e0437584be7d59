"""What the rows say about a run at one moment."""

from dataclasses import dataclass

from hone.store.database import Database, Row
from hone.store.leases import LeaseLost
from services.learner.driver.lease import RunLease


@dataclass(frozen=True)
class Count:
    """Open groups of one purpose and step."""

    total: int = 0
    requested: int = 0
    ready: int = 0
    unclaimed: int = 0
    late: int = 0  # requested ones past their deadline
    begun: int | None = None  # number of the oldest version that may be sampling one of the requested
    oldest: int | None = None  # number of the oldest version that sampled a ready one that no step has planned
    reason: str | None = None  # why one of the requested waits
    refused: int = 0  # requested ones that nobody will make ready


@dataclass(frozen=True)
class View:
    """A run's place: what is wanted of it, its last steps, its open groups, its newest version."""

    desired: str
    state: str
    past_deadline: bool
    failure: str | None
    committed: int
    planned: int
    stage: int  # number of the one that was begun last
    version_id: str | None  # of version number `committed`
    unpublished: list[str]  # roles whose model has no version yet
    counts: dict[tuple[str, int], Count]

    def open(self, purpose: str, step: int) -> Count:
        """Return the count of open groups of `purpose` that were requested for `step`."""
        return self.counts.get((purpose, step), Count())

    @property
    def train(self) -> Count:
        """Count the open groups for training, whatever step they were requested for."""
        return _sum([count for (purpose, _), count in self.counts.items() if purpose == "train"])


def view(database: Database, lease: RunLease) -> View:
    """Look at the run. Raises LeaseLost when it is somebody else's."""
    run = database.one("driver.overview", run_id=lease.run_id, epoch=lease.epoch)
    if run is None:
        raise LeaseLost(lease.run_id)
    counts = database.all("driver.group_counts", run_id=lease.run_id)
    return View(
        desired=run["desired"], state=run["state"], past_deadline=run["past_deadline"], failure=run["failure"],
        committed=run["committed"], planned=run["planned"], stage=run["stage"],
        version_id=run["version_id"],
        unpublished=run["unpublished"],
        counts={(row["purpose"], row["step"]): _count(row) for row in counts})


def _count(row: Row) -> Count:
    return Count(row["total"], row["requested"], row["ready"], row["unclaimed"], row["late"], row["begun"],
                 row["oldest"], row["reason"], row["refused"])


def _sum(counts: list[Count]) -> Count:
    begun = [count.begun for count in counts if count.begun is not None]
    oldest = [count.oldest for count in counts if count.oldest is not None]
    return Count(
        total=sum(count.total for count in counts), requested=sum(count.requested for count in counts),
        ready=sum(count.ready for count in counts), unclaimed=sum(count.unclaimed for count in counts),
        late=sum(count.late for count in counts), begun=min(begun, default=None),
        oldest=min(oldest, default=None),
        reason=max((count.reason for count in counts if count.reason), default=None),
        refused=sum(count.refused for count in counts))


def situation(now: View) -> str:
    """Say what a run waits for."""
    if now.version_id is None:
        return "the trainer to publish the base weights"
    if now.unpublished:
        return f"the trainer to publish the {now.unpublished[0]}'s weights"
    for (purpose, step), count in sorted(now.counts.items()):
        if count.requested:
            told = f"{count.ready} of {count.total} {purpose} groups of step {step} are ready"
            return f"{told}; {count.reason}" if count.reason else told
    if now.planned > now.committed:
        return f"the trainer to commit step {now.committed + 1}"
    return "nothing"
