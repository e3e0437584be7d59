"""Leases of rows: a process may write for a run or a model while it holds the row's lease.

Each lease has an epoch, which grows by one whenever the row is leased. Every write of the holder names its epoch, so
that a process whose lease has expired cannot write any more.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Literal, Protocol, TypeVar

from hone.store.database import Database, Transaction

Table = Literal["runs", "models"]


MOST_TAKEDOWNS = 2
"""Processes in a row that a run may take down before it is failed."""


class LeaseLost(RuntimeError):
    """Another process holds the row now. Its former holder must write nothing more."""


class Lease(Protocol):
    """A row that is leased, and the epoch of the lease."""

    @property
    def table(self) -> Table: ...
    @property
    def row_id(self) -> str: ...
    @property
    def epoch(self) -> int: ...


class Leased(Protocol):
    """Work on a leased row."""

    @property
    def lease(self) -> Lease: ...


Work = TypeVar("Work", bound=Leased)


def renew(database: Database, lease: Lease, lease_s: float) -> None:
    """Let the lease expire `lease_s` seconds from now. Raises LeaseLost."""
    if not database.run(f"{lease.table}.renew_lease", id=lease.row_id, epoch=lease.epoch, lease_s=lease_s):
        raise LeaseLost(lease.row_id)


@contextmanager
def fenced(database: Database, lease: Lease) -> Iterator[Transaction]:
    """Open a transaction that only the holder of this epoch can commit. Raises LeaseLost."""
    with database.transaction() as transaction:
        if transaction.one(f"{lease.table}.fence", id=lease.row_id, epoch=lease.epoch) is None:
            raise LeaseLost(lease.row_id)
        yield transaction


class Holder(Generic[Work]):
    """One process's work on the rows of a table that it has leased."""

    def __init__(self, database: Database, table: Table, owner: str, lease_s: float) -> None:
        self._database, self._table, self._owner, self._lease_s = database, table, owner, lease_s
        self._work: dict[str, Work] = {}

    def add(self, work: Work) -> None:
        """Hold this work until it is dropped or its lease is lost."""
        self._work[work.lease.row_id] = work

    def work(self) -> list[Work]:
        """Return all work that is held now."""
        return list(self._work.values())

    def drop(self, work: Work) -> None:
        """Hold this work no longer. Its lease is renewed no more and expires."""
        if self._work.get(work.lease.row_id) is work:  # and not later work on the same row
            del self._work[work.lease.row_id]

    def renew(self, work: Work) -> None:
        """Renew the lease of this work; drop the work if the lease is lost."""
        try:
            renew(self._database, work.lease, self._lease_s)
        except LeaseLost:
            self.drop(work)

    def release(self, work: Work) -> None:
        """Drop this work and let any process lease its row at once."""
        self.drop(work)
        self._database.run(f"{self._table}.release_lease", id=work.lease.row_id, epoch=work.lease.epoch)

    def release_all(self) -> None:
        """Let any process lease the rows that this process holds, or that an earlier process of its name held."""
        self._work.clear()
        self._database.run(f"{self._table}.release_leases", owner=self._owner)
