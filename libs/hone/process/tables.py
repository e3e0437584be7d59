"""Whether this release's processes can use the tables of the database: asked once, when a process starts."""

import logging
import os
import sys
import threading
import time

import psycopg
from psycopg.rows import dict_row

from hone.store import schema
from hone.store.schema import SchemaMismatch

_TIMEOUT_S, _PAUSE_S = 5, 1.0
_log = logging.getLogger(__name__)


def expect_current(url: str) -> None:
    """End this process with a sentence if the tables at `url` have another version than this release's.

    A process may start while the database is away: then a thread asks until it answers.
    """
    try:
        if not _answered(url):
            threading.Thread(target=_ask_again, args=(url,), name="version of the tables", daemon=True).start()
    except SchemaMismatch as mismatch:
        sys.exit(str(mismatch))


def _ask_again(url: str) -> None:
    try:
        while not _answered(url):
            time.sleep(_PAUSE_S)
    except SchemaMismatch as mismatch:
        _log.critical("%s; this process ends", mismatch)
        os._exit(1)


def _answered(url: str) -> bool:
    """Return whether the database said the version, and it is this release's. Raises SchemaMismatch."""
    try:
        with psycopg.connect(url, connect_timeout=_TIMEOUT_S, row_factory=dict_row) as connection:
            schema.expect_current(connection)
    except psycopg.OperationalError:
        return False
    return True
