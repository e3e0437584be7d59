"""Removes what requests deleted: its rows in batches, then its objects through the sweep of orphans.

Rows are the truth. A request marks a subject and writes a row of `deletions`; from then on no list shows it. A driver
that is killed between two batches, or between rows and objects, leaves a row that says how far it came, and any driver
goes on. The models of a deleted run are removed after it, each once no other model starts from one of its versions.
"""

import asyncio
import logging
from collections.abc import Iterator
from itertools import islice

from psycopg import IntegrityError, OperationalError

from hone.crashpoints import reach
from hone.jobs.job import Again, Done, Job, Kind, Outcome
from hone.store.database import AsyncTransaction, Database, Row, Transaction
from hone.store.objects import Objects, StoreAway
from hone.telemetry import metrics

BATCH = 1000
"""Groups, steps or versions that one transaction removes at most, and keys that it notes; of smaller rows ten times."""

_RUN = ("remove_groups", "remove_prompts", "remove_metrics", "remove_evaluations", "remove_events", "remove_steps",
        "remove_run")
_ROWS = {
    "run": _RUN,
    "preflight": _RUN,
    "samples": ("remove_groups", "remove_prompts", "forget_parts"),
    "model": ("remove_artifact",),
    "dataset": ("remove_artifact",),
    "export": ("remove_export",),
    "checkpoint": ("remove_checkpoint",),
}
"""The statements that remove the rows of a kind, in order. Each is repeated until it finds nothing."""

_PREFIXES = {"run": "runs/{}/", "preflight": "runs/{}/", "samples": "runs/{}/", "model": "artifacts/{}/",
             "dataset": "artifacts/{}/"}

_LEFT = Again("rows or objects of it are left", after_s=0.0, counts=False)
_CRASHES_S, _LONGEST_WAIT_S = (1.0, 10.0, 60.0), 60.0
"""Seconds before a batch after failed ones; and at most between two looks whether a deletion can go on."""
_log = logging.getLogger(__name__)


class Deletions:
    """The kind of jobs that delete, a batch an attempt. Several drivers work side by side."""

    def __init__(self, database: Database, objects: Objects, pause_s: float, batch: int = BATCH) -> None:
        self._database, self._objects, self._pause_s, self._batch = database, objects, pause_s, batch
        self.kind = Kind(self._work, record, at_once=1, pauses_s=_CRASHES_S, given_up=False)

    async def _work(self, job: Job) -> Outcome:
        """Remove a batch, then rest, so that the database has time for other work."""
        try:
            outcome = await asyncio.to_thread(self.remove, job.subject)
        except (OperationalError, StoreAway) as away:
            return Again(str(away))
        await asyncio.sleep(self._pause_s if outcome == _LEFT else 0.0)
        return outcome

    def remove(self, subject_id: str) -> Outcome:
        """Remove a batch of a subject. Raises psycopg.OperationalError and StoreAway."""
        with self._database.transaction() as transaction:
            row = transaction.one("deletions.lock", id=subject_id)
            if row is None:
                return Done()
            if row["waits_for"]:
                wait_s = min(max(row["age_s"] / 10, self._pause_s), _LONGEST_WAIT_S)
                return Again(f"it waits for {row['waits_for']}", wait_s, counts=False)
            if not row["after"] and self._rows(transaction, _ROWS[row["kind"]], row["subject_id"], row["owner_id"]):
                return _LEFT
        reach("deletion.rows-objects")
        return Done() if self._objects_of(row) else _LEFT

    def _rows(
        self, transaction: Transaction, statements: tuple[str, ...], subject_id: str, owner_id: str,
    ) -> bool:
        """Remove a batch of the rows of `owner_id`. Return whether some may be left."""
        for statement in statements:
            found = transaction.one(f"deletions.{statement}", id=owner_id, limit=self._batch)
            if found and found["rows"]:
                transaction.run("deletions.count", id=subject_id, rows=found["rows"])
                metrics.ROWS_DELETED.inc(found["rows"])
            if found and found["found"]:
                return True
        return False

    def _objects_of(self, row: Row) -> bool:
        """Have the next objects of a subject without rows removed. Return whether the deletion is finished with them.
        """
        prefix = _PREFIXES.get(row["kind"])
        keys = [] if prefix is None else list(
            islice(self._objects.list(prefix.format(row["owner_id"]), row["after"]), self._batch))
        finished = len(keys) < self._batch
        with self._database.transaction() as transaction:
            transaction.run("deletions.note_objects", keys=keys)
            transaction.run("deletions.set_reached", id=row["subject_id"], after=keys[-1] if keys else row["after"],
                            finished=finished)
        if finished:
            metrics.DELETIONS_FINISHED.labels(row["kind"]).inc()
            _log.info("the %s %s is deleted", row["kind"], row["subject_id"])
        return finished

    def remove_model(self) -> bool:
        """Remove a batch of the rows of a deleted run's model, with its last rows the model itself.

        Return False if there was nothing to do. Raises psycopg.OperationalError, StoreAway.
        """
        try:
            with self._database.transaction() as transaction:
                row = transaction.one("deletions.next_model")
                if row is None:
                    return False
                left = self._rows(transaction, ("remove_operations", "remove_versions"), row["id"], row["id"])
            if not left:
                self._end_of_model(row["id"], kept=row["kept"])
        except IntegrityError as used:  # a model that starts from it was added meanwhile: the next look sees it
            _log.info("a model of a deleted run stays: %s", used)
        return True

    def _end_of_model(self, model_id: str, kept: bool) -> None:
        """Have the objects of a model removed that no row names any more, and its row, unless it is kept."""
        for keys in _batches(self._objects.list(f"models/{model_id}/"), self._batch):
            self._database.run("deletions.note_objects", keys=keys)
        if not kept:
            self._database.run("deletions.remove_model", id=model_id)


async def record(_: AsyncTransaction, __: Job, ___: Outcome) -> None:
    """Write nothing: each batch has said how far it came."""


def _batches(keys: Iterator[str], size: int) -> Iterator[list[str]]:
    while batch := list(islice(keys, size)):
        yield batch
