"""The statements of every step read few rows, however many steps a run has had."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from hone.store.database import OPTIONS
from hone.store.sql import statement
from tests.integration.store.long_run import ASKED, FEW, PROMPTS, ROWS, STEPS, looked_at


@pytest.fixture
def connection(postgres_owner_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_owner_url, options=OPTIONS, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(ROWS, {"steps": STEPS, "prompts": PROMPTS})
        connection.execute("ANALYZE")
        yield connection
        connection.rollback()


@pytest.mark.parametrize("name", ASKED)
def test_a_statement_of_every_step_reads_few_rows(connection: psycopg.Connection[Any], name: str) -> None:
    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement(name)}", ASKED[name]).fetchone()
    assert row is not None
    assert looked_at(row[0][0]["Plan"]) < FEW, name


def test_the_newest_values_of_a_long_run_are_found(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(statement("runs.detail"), {"run_id": "r"}).fetchone()
    assert row is not None
    assert (row["step"], row["version_id"], row["reward"]) == (STEPS, f"v{STEPS}", STEPS)
    assert row["metrics"] == {"a": STEPS, "b": STEPS, "reward/mean": STEPS}
