"""Migrations only add, unless they say why not: old processes run on beside the new tables."""

import shutil
from pathlib import Path

import pytest

from checks.migrations import STORE, breaches, migration
from hone.store import schema

TITLE = "-- Adds a thing.\n"
TABLE = TITLE + "CREATE TABLE things (id text PRIMARY KEY, tenant_id text NOT NULL);\n"
RIGHTS = "GRANT SELECT ON things TO hone_gateway, hone_worker;\nALTER TABLE things ENABLE ROW LEVEL SECURITY;\n"


def test_the_migrations_of_this_release_keep_the_rules() -> None:
    assert breaches() == []


@pytest.mark.parametrize("statement", [
    "ALTER TABLE runs ADD COLUMN note text",
    "ALTER TABLE runs ADD COLUMN size numeric(3, 1) NOT NULL DEFAULT 1, ADD COLUMN type text",
    "ALTER TABLE runs ADD COLUMN kept boolean NOT NULL DEFAULT false",
    "CREATE INDEX runs_by_note ON runs (note)",
    "COMMENT ON TABLE runs IS 'nobody may DROP; it'",
    "UPDATE runs SET note = 'a' WHERE note IS NULL",
    "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orphans; END $$",
    "-- breaking: no process of 28 reads it\nALTER TABLE runs DROP COLUMN note",
])
def test_what_old_processes_do_not_notice_is_allowed(statement: str) -> None:
    assert list(migration(f"{TITLE}{statement};\n")) == []


@pytest.mark.parametrize(("statement", "why"), [
    ("ALTER TABLE runs DROP COLUMN note", "takes away"),
    ("DROP INDEX runs_ended", "takes away"),
    ("ALTER TABLE runs ALTER note DROP NOT NULL", "takes away"),
    ("ALTER TABLE runs RENAME COLUMN a TO b", "a name"),
    ("ALTER TABLE runs\n    ALTER COLUMN a TYPE bigint", "changes a type"),
    ("ALTER TABLE runs ALTER a SET DATA TYPE bigint", "changes a type"),
    ("ALTER TABLE runs ALTER COLUMN a SET NOT NULL", "refuses rows"),
    ("ALTER TABLE runs ADD COLUMN a text NOT NULL", "a default"),
    ("ALTER TABLE runs ADD COLUMN a text DEFAULT 'x', ADD b numeric(3, 1) NOT NULL", "a default"),
    ("ALTER TABLE runs ADD CHECK (a > 0)", "refuses rows"),
    ("ALTER TABLE runs ADD CONSTRAINT c UNIQUE (a)", "refuses rows"),
    ("CREATE UNIQUE INDEX one_a ON runs (a)", "refuses rows"),
    ("DELETE FROM runs", "deletes rows"),
    ("REVOKE SELECT ON runs FROM hone_gateway", "takes rights"),
    ("DO $$ BEGIN EXECUTE 'DROP TABLE runs'; END $$", "hides"),
    ("CREATE INDEX CONCURRENTLY i ON runs (a)", "one transaction"),
    ("COMMIT", "one transaction"),
])
def test_what_old_processes_would_notice_is_refused(statement: str, why: str) -> None:
    (breach,) = migration(f"{TITLE}{statement};\n")
    assert why in breach
    assert "\n" not in breach


def test_a_reason_counts_for_its_own_statement_only() -> None:
    (breach,) = migration(f"{TITLE}-- breaking: unused\nDROP TABLE a;\nDROP TABLE b;\n")
    assert "DROP TABLE b" in breach


def test_a_new_table_needs_rights_and_row_level_security() -> None:
    assert ["GRANT" in breach for breach in migration(TABLE)] == [True, False]
    assert list(migration(TABLE + RIGHTS + "CREATE UNIQUE INDEX one_thing ON things (tenant_id);\n")) == []


def test_a_gap_a_missing_title_and_a_changed_baseline_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(STORE / "migrations", store / "migrations")
    (store / "schema.sql").write_text((STORE / "schema.sql").read_text() + "\n")
    (store / "migrations" / f"{schema.VERSION + 2:03}.sql").write_text("CREATE INDEX i ON runs (id);\n")
    baseline, name, title = breaches(store)
    assert baseline.startswith("schema.sql: databases have run it as version 27")
    assert f"expected the name {schema.VERSION + 1:03}.sql" in name
    assert "first line" in title
