"""Objects that no row names: parts of overtaken claimants, weights of uncommitted steps, files of what was deleted.

Whoever stores an object names it in a row soon after, or never. So a key that was seen unnamed, and is still unnamed
after a time in which every upload and every lease ends, belongs to nobody. The time runs from when the database told
that the key is unnamed, not from when the object was written: while the database is away nobody can commit, and nothing
is seen either.
"""

import logging
import re
from itertools import chain, islice

from hone.spec.settings import Settings
from hone.store.database import Database
from hone.store.objects import Objects
from hone.telemetry import metrics

BATCH = 1000
"""Keys that a pass looks at, and at most as many that it removes."""

_WRITTEN = re.compile(
    r"(artifacts/art_\w+|models/model_\w+/(versions|snapshots|exports|adapters)|runs/run_\w+/parts)/.")
_PREFIXES = ("artifacts/", "models/", "runs/")
_MARKERS = "sweeps/"

_log = logging.getLogger(__name__)


class Orphans:
    """Collects what nobody names, a stretch of keys at a time; of several processes one does each pass."""

    def __init__(self, database: Database, objects: Objects, settings: Settings) -> None:
        self._database, self._objects, self._settings = database, objects, settings

    def sweep(self) -> int:
        """Do a pass if one is due: note unnamed keys, remove those noted long ago. Returns how many were removed.

        Raises psycopg.OperationalError, StoreAway.
        """
        begun = self._database.one("orphans.begin", pause_s=self._settings.orphan_sweep_s)
        if begun is None or not self._own(begun["identity"]):
            return 0
        if not begun["after"]:
            self._discard_unfinished()
        self._note(begun["after"])
        return self._collect()

    def _own(self, identity: str) -> bool:
        """Tell whether the objects are those of this database; whoever comes first says so in the store."""
        own, markers = f"{_MARKERS}{identity}", list(islice(self._objects.list(_MARKERS), 2))
        if not markers:
            self._objects.put(own, b"")
        elif markers != [own]:
            _log.warning("nothing is collected: the object store belongs to another database (%s)", markers)
        return markers in ([], [own])

    def _discard_unfinished(self) -> None:
        discarded = self._objects.discard_unfinished(self._settings.orphan_grace_s)
        if discarded:
            _log.info("discarded %d unfinished objects of writers that are gone", discarded)

    def _note(self, after: str) -> None:
        """Note what is unnamed among the next keys."""
        listed = chain.from_iterable(self._objects.list(prefix, after) for prefix in _PREFIXES)
        keys = list(islice(listed, BATCH))
        written = [key for key in keys if _WRITTEN.match(key)]
        with self._database.transaction() as transaction:
            transaction.run("orphans.note", keys=written, owners=_owners(written))
            transaction.run("orphans.reached", after=keys[-1] if len(keys) == BATCH else "")

    def _collect(self) -> int:
        with self._database.transaction() as transaction:
            due = {row["key"] for row in transaction.all(
                "orphans.due", grace_s=self._settings.orphan_grace_s, limit=BATCH)}
            named = {row["key"] for row in transaction.all("orphans.named", keys=list(due), owners=_owners(due))}
            transaction.run("orphans.forget", keys=list(named))
        unnamed = sorted(due - named)
        if unnamed:
            self._remove(unnamed)
        return len(unnamed)

    def _remove(self, keys: list[str]) -> None:
        self._objects.delete(keys)
        self._database.run("orphans.forget", keys=keys)
        metrics.ORPHANS_COLLECTED.inc(len(keys))
        _log.info("collected %d objects that no row names, the first of them %s", len(keys), keys[0])


def _owners(keys: list[str] | set[str]) -> list[str]:
    """Return the runs, models and artifacts whose rows could name the keys."""
    return sorted({key.split("/")[1] for key in keys})
