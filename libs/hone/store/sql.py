"""Named SQL: every statement stands in a `.sql` file under `queries/`, one file a flow, found by its name."""

from functools import cache
from importlib.resources import files
from typing import LiteralString


def named(text: str) -> dict[str, str]:
    """Return the statements of a `.sql` file by their names."""
    blocks = (block.partition("\n") for block in text.split("-- name: ")[1:])
    return {name.strip(): body.strip() for name, _, body in blocks}


@cache
def _statements(flow: str) -> dict[str, str]:
    return named(files("hone.store").joinpath("queries", f"{flow}.sql").read_text())


def statement(name: str) -> LiteralString:
    """Return the statement called `flow.name`, for instance `driver.lease_run`.

    Raises KeyError when the flow's file holds no statement of that name.
    """
    flow, _, key = name.partition(".")
    return _statements(flow)[key]
