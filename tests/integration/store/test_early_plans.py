"""A plan that a connection made while tables were small, and keeps, does not read them again and again when they grow.

Postgres plans a prepared statement for what it knows of the tables; until it has counted their rows again, a minute
later at the earliest, a busy connection goes on with the plan of its first moments.
"""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from hone.store.database import OPTIONS
from hone.store.sql import statement
from tests.integration.store.long_run import ASKED, FILLED, PROMPTS, ROWS, STEPS, looked_at

MOST = 2 * STEPS  # a version of each step, once; of groups and grades there are more
_TYPES = {str: "text", int: "integer", float: "double precision", list: "bigint[]"}


@pytest.fixture
def connection(postgres_owner_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_owner_url, options=OPTIONS, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        yield connection
        connection.rollback()


def _prepare(connection: psycopg.Connection[Any], name: str) -> list[Any]:
    """Prepare and plan a statement as `early`; return its parameters in the order of their numbers."""
    params: list[str] = list(ASKED[name])
    text = re.sub(r"%\((\w+)\)[sb]", lambda match: f"${params.index(match[1]) + 1}", statement(name)).replace("%%", "%")
    values = [ASKED[name][param] for param in params]
    types = ", ".join(_TYPES[type(value)] for value in values)
    connection.execute(f"PREPARE early ({types}) AS {text}")
    return values


@pytest.mark.parametrize("begun", [0, 8], ids=["empty", "analyzed after eight steps"])
@pytest.mark.parametrize("name", ASKED)
def test_an_early_plan_looks_at_a_row_once(connection: psycopg.Connection[Any], name: str, begun: int) -> None:
    params = _prepare(connection, name)
    execute = f"EXECUTE early ({', '.join(['%s'] * len(params))})"
    if begun:
        connection.execute(ROWS, {"steps": begun, "prompts": PROMPTS})
        connection.execute("ANALYZE")
    connection.execute(f"EXPLAIN {execute}", params)
    for table in FILLED if begun else ():
        connection.execute(f"DELETE FROM {table}")
    connection.execute(ROWS, {"steps": STEPS, "prompts": PROMPTS})
    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}", params).fetchone()
    assert row is not None
    assert looked_at(row[0][0]["Plan"]) < MOST, name
