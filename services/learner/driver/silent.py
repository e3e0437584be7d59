"""Rows of engines and workers that were killed: who leaves in order takes its own away, the others are forgotten."""

import logging

from hone.store.database import Database

FORGET_S = 3600.0
"""Seconds of silence after which a row is of nobody: long after its alert, and what reports again enters anew."""

_log = logging.getLogger(__name__)


def forget_silent(database: Database) -> int:
    """Remove rows without a heartbeat for `FORGET_S`; return how many. Raises psycopg.OperationalError."""
    gone = database.all("driver.forget_silent", silent_s=FORGET_S)
    for row in gone:
        _log.warning("%s %s has been silent for more than %d minutes and is forgotten", row["kind"], row["id"],
                     FORGET_S // 60)
    return len(gone)
