"""Orphans: objects that no row names. Overtaken claimants, uncommitted steps and deleted rows leave them behind.

A process that stores an object names it in a row soon after, or never; an upload in parts names its objects while it is
open, and expires when no part comes. So a key is an orphan if no row names it at one
time, nor at a later time by which every upload and every lease has ended. The interval begins when the database found
the key unnamed, not when the object was written: while the database is away no process can name its objects.
"""

import logging
import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from hone.store.database import Database
from hone.store.objects import Objects
from hone.telemetry import metrics

BATCH = 1000
"""Keys that a pass checks at most, and that it removes at a time."""
_BATCHES = 20
"""Times that a pass removes a batch at most: what was deleted is noted all at once."""

_WRITTEN = re.compile(
    r"(artifacts/art_\w+|models/model_\w+/(versions|snapshots|exports|adapters)|runs/run_\w+/parts)/.")
_PREFIXES = ("artifacts/", "models/", "runs/")
_MARKERS = "sweeps/"

_PASSES_IN_GRACE, _LONGEST_PAUSE_S = 10, 60.0

_log = logging.getLogger(__name__)


def pause_s(grace_s: float) -> float:
    """Return the seconds between two passes: a minute, or less where objects are removed soon."""
    return min(_LONGEST_PAUSE_S, grace_s / _PASSES_IN_GRACE)


class Orphans:
    """Removes orphans, some keys at a time. If there are several drivers, one of them does each pass."""

    def __init__(self, database: Database, objects: Objects, grace_s: float, pause_s: float) -> None:
        """`pause_s` is the time between two passes; an object is removed `grace_s` seconds after it was noted."""
        self._database, self._objects = database, objects
        self._grace_s, self._pause_s = grace_s, pause_s

    def sweep(self) -> int:
        """Do a pass if one is due: note unnamed keys, and remove keys that were noted long ago. Return how many.

        Raises psycopg.OperationalError, StoreAway.
        """
        begun = self._database.one("orphans.begin_sweep", pause_s=self._pause_s)
        if begun is None or not self._own(begun["identity"]) or not self._lets_delete():
            return 0
        if not begun["after"]:
            self._expire_uploads()
            self._discard_unfinished()
        self._note(begun["after"])
        removed = 0
        for _ in range(_BATCHES):
            checked, collected = self._collect()
            removed += collected
            if checked < BATCH:
                break
        return removed

    def _lets_delete(self) -> bool:
        """Return whether no backup is being made, which may still copy what is collected here."""
        return bool((self._database.one("backups.lets_delete") or {})["free"])

    def _own(self, identity: str) -> bool:
        """Return whether the object store belongs to this database. The first one to ask marks the store as its own."""
        own, markers = f"{_MARKERS}{identity}", list(islice(self._objects.list(_MARKERS), 2))
        if not markers:
            self._objects.put(own, b"")
        elif markers != [own]:
            _log.warning("nothing is collected: the object store belongs to another database (%s)", markers)
        return markers in ([], [own])

    def _expire_uploads(self) -> None:
        """End uploads for which no part came any more. Then nothing names their objects."""
        expired = self._database.run("uploads.expire", grace_s=self._grace_s)
        self._database.run("uploads.forget", grace_s=self._grace_s)
        if expired:
            _log.info("%d uploads expired: no part came for %.0f s", expired, self._grace_s)

    def _discard_unfinished(self) -> None:
        waiting = {row["unfinished"] for row in self._database.all("uploads.unfinished")}
        discarded = self._objects.discard_unfinished(self._grace_s, waiting)
        if discarded:
            _log.info("discarded %d unfinished objects of writers that are gone", discarded)

    def _note(self, after: str) -> None:
        """Note those of the next keys that no row names, and what their owners occupy."""
        listed = chain.from_iterable(self._objects.list_sizes(prefix, after) for prefix in _PREFIXES)
        found = list(islice(listed, BATCH))
        last = len(found) < BATCH
        written = [key for key, _ in found if _WRITTEN.match(key)]
        with self._database.transaction() as transaction:
            transaction.run("orphans.note", keys=written, owners=_owners(written))
            transaction.run("stored_sizes.add", **_sizes(found, after, last))
            if last:
                transaction.run("stored_sizes.forget_gone")
            transaction.run("orphans.set_reached", after="" if last else found[-1][0])

    def _collect(self) -> tuple[int, int]:
        """Check a batch of keys that were noted long ago, and remove the unnamed ones. Return the number of each."""
        with self._database.transaction() as transaction:
            due = {row["key"] for row in transaction.all(
                "orphans.due", grace_s=self._grace_s, limit=BATCH)}
            named = {row["key"] for row in transaction.all("orphans.named", keys=list(due), owners=_owners(due))}
            transaction.run("orphans.forget", keys=list(named))
        unnamed = sorted(due - named)
        if unnamed:
            self._remove(unnamed)
        return len(due), len(unnamed)

    def _remove(self, keys: list[str]) -> None:
        self._objects.delete(keys)
        self._database.run("orphans.forget", keys=keys)
        metrics.ORPHANS_COLLECTED.inc(len(keys))
        _log.info("collected %d objects that no row names, the first of them %s", len(keys), keys[0])


def _owners(keys: list[str] | set[str]) -> list[str]:
    """Return the ids of the runs, models and artifacts whose rows could name the keys."""
    return sorted({_owner(key) for key in keys})


def _sizes(found: Sequence[tuple[str, int]], after: str, last: bool) -> dict[str, list[Any]]:
    """Return the bytes and objects of each owner of these keys, in order; `last`: no key follows them."""
    sums = {_owner(after): (0, 0)} if after else dict[str, tuple[int, int]]()
    for key, size in found:
        owner = _owner(key)
        known = sums.get(owner, (0, 0))
        sums[owner] = known[0] + size, known[1] + 1
    owners = list(sums)
    return {"owners": owners, "bytes": [size for size, _ in sums.values()], "objects": [n for _, n in sums.values()],
            "continued": [bool(after) and owner == _owner(after) for owner in owners],
            "complete": [last or owner != owners[-1] for owner in owners]}


def _owner(key: str) -> str:
    return key.split("/")[1]
