"""Keeps the table of usage small: sums of money and of tokens are read from it again and again."""

from hone.store.database import Database

_BATCH = 5000
"""Rows that one statement sums up."""


def sum_hours(database: Database) -> None:
    """Let the rows of each hour that is over become one for each run, key and kind. No sum changes."""
    while database.run("usage.sum_hours", limit=_BATCH):
        pass
