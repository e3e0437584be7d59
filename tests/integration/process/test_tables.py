"""A process starts only beside tables of its own release."""

import os
import threading

import psycopg
import pytest

from hone.process import tables
from hone.store import schema
from hone.store.schema import SchemaMismatch
from tests.servers.postgres import TestDatabase


@pytest.mark.parametrize(("version", "found"), [
    (schema.VERSION + 1, f"tables of version {schema.VERSION + 1}, this release knows versions up to {schema.VERSION}"),
    (schema.VERSION - 1, f"tables of version {schema.VERSION - 1}, this release needs version {schema.VERSION}"),
])
def test_tables_of_another_release_end_the_process_with_both_numbers(
    postgres: TestDatabase, version: int, found: str,
) -> None:
    with psycopg.connect(postgres.owner_url, autocommit=True) as owner:
        owner.execute("UPDATE schema_version SET version = %s", (version,))
        try:
            for url in (postgres.worker_url, postgres.gateway_url):
                with pytest.raises(SystemExit, match=found):
                    tables.expect_current(url)
        finally:
            owner.execute("UPDATE schema_version SET version = %s", (schema.VERSION,))
    for url in (postgres.worker_url, postgres.gateway_url):
        tables.expect_current(url)


def test_a_database_that_is_away_is_asked_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ended = list[str](), threading.Event()

    def answer(url: str) -> bool:
        asked.append(url)
        if len(asked) < 3:
            return False
        raise SchemaMismatch("version 999")

    monkeypatch.setattr(tables, "_PAUSE_S", 0.0)
    monkeypatch.setattr(tables, "_answered", answer)
    monkeypatch.setattr(os, "_exit", lambda _: ended.set())
    tables.expect_current("url")
    assert ended.wait(60)
    assert asked == ["url"] * 3
