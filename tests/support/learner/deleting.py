"""Deletions without a driver process: a test takes their jobs itself, and decides when a batch is removed."""

from hone.jobs.job import Done, Job
from hone.store.database import Database
from services.learner.driver.deletions import Deletions


def work(database: Database, deletions: Deletions) -> bool:
    """Remove a batch of each deletion, or else of a model. Return False if none could go on."""
    worked = [_attempt(database, deletions, Job(**row)) for row in database.all(
        "jobs.take", kind="deletion", count=100, worker="test", lease_s=0.0)]
    return any(worked) or deletions.remove_model()


def _attempt(database: Database, deletions: Deletions, job: Job) -> bool:
    outcome = deletions.remove(job.subject)
    if isinstance(outcome, Done):
        return bool(database.run("jobs.end", **job.fence))
    database.run("jobs.again", **job.fence, after_s=0.0, late=False, reason="", unused=1)
    return "it waits for" not in outcome.reason
