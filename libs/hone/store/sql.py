"""Named SQL statements. They are in `queries/`, one file for each table."""

from functools import cache
from importlib.resources import files
from typing import LiteralString


def named(text: str) -> dict[str, str]:
    """Return the statements of a `.sql` file by their names."""
    blocks = (block.partition("\n") for block in text.split("-- name: ")[1:])
    return {name.strip(): body.strip() for name, _, body in blocks}


@cache
def _statements(table: str) -> dict[str, str]:
    return named(files("hone.store").joinpath("queries", f"{table}.sql").read_text())


def statement(name: str) -> LiteralString:
    """Return the statement called `table.name`, for instance `groups.claim`.

    Raises FileNotFoundError or KeyError if there is no such file, or no such statement in it.
    """
    table, _, key = name.partition(".")
    return _statements(table)[key]
