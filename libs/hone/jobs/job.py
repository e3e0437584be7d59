"""A job, the outcomes of an attempt at it, and a kind of jobs: a function that makes the attempt."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from hone.store.database import AsyncTransaction


@dataclass(frozen=True)
class Job:
    """A job that this process has taken. Its subject is the id of the row that says what has to be done."""

    id: int
    tenant_id: str
    kind: str
    subject: str
    attempts: int  # this attempt included
    epoch: int  # grows whenever the job is taken
    takedowns: int = 0  # workers in a row that went away with it
    reason: str | None = None  # why the attempt before did not end it
    orphaned: bool = False  # its tenant was deleted
    late: bool = False  # an attempt asked that it wait behind all jobs that are not

    @property
    def fence(self) -> dict[str, int]:
        """The job's id and epoch, which a statement compares to refuse a worker whose lease has ended."""
        return {"job_id": self.id, "epoch": self.epoch}


@dataclass(frozen=True)
class Done:
    """Nothing is left to do. `found` is for the kind's `record`; None: the subject is gone, or has ended."""

    found: Any = None


@dataclass(frozen=True)
class Again:
    """The job has to be tried again. `found` is for the kind's `record` if there is no further attempt."""

    reason: str
    after_s: float | None = None  # None: as the kind's pauses say, and never after the last of them
    counts: bool = True  # as an attempt
    late: bool = False  # from now on it waits behind all jobs that are not late
    found: Any = None


@dataclass(frozen=True)
class Failed:
    """The job is given up."""

    reason: str
    found: Any = None


Outcome = Done | Again | Failed


@dataclass(frozen=True)
class Kind:
    """A kind of jobs.

    `work` makes an attempt. It may be cancelled at any time, and another process may make the attempt again. `record`
    writes what users see of an outcome, in the transaction that settles the job.
    """

    work: Callable[[Job], Awaitable[Outcome]]
    record: Callable[[AsyncTransaction, Job, Outcome], Awaitable[None]]
    at_once: int  # in one process
    pauses_s: tuple[float, ...] = ()  # before the second attempt, the third and so on
    given_up: bool = True  # after the last pause, takedowns, or its tenant's end; False: the last pause is repeated

    def final(self, job: Job, outcome: Outcome) -> Outcome:
        """Return an outcome with its pause, or that the job is given up as there are no more attempts."""
        if not isinstance(outcome, Again) or outcome.after_s is not None:
            return outcome
        if self.given_up and job.attempts > len(self.pauses_s):
            return Failed(f"{outcome.reason} (after {job.attempts} attempts)", outcome.found)
        return Again(outcome.reason, self.pauses_s[min(job.attempts, len(self.pauses_s)) - 1], outcome.counts)
