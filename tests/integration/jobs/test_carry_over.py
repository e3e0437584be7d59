"""Work that waited in the tables of the release before, or was in work, becomes jobs when the database is upgraded."""

import psycopg
import pytest
from psycopg.rows import dict_row

from hone.store import schema
from tests.servers.postgres import Server

BEFORE = 28
"""The version before the table of jobs."""
ROWS = """
INSERT INTO tenants (id, name) VALUES ('t', 't');
INSERT INTO grader_checks (id, tenant_id, grader, grader_hash, set_name, state, attempts, owner, due_at) VALUES
    ('check', 't', '{}', 'h', 's', 'taken', 2, 'reward-0', now() + interval '1 min'),
    ('old', 't', '{}', 'h', 's', 'done', 1, 'r', now());
INSERT INTO audience_fits (id, tenant_id, dataset, params, reason) VALUES ('fit', 't', 'd', '{}', 'away');
INSERT INTO package_jobs (id, tenant_id, name, hint, seed, tasks, state) VALUES
    ('package', 't', 'n', 'h', 0, 1, 'waiting'), ('cancelled', 't', 'n', 'h', 0, 1, 'cancelled');
INSERT INTO grading_jobs (tenant_id, run_id, group_id, grader_hash, indexes, regrade_no, body, state, attempts) VALUES
    ('t', 'run', 1, 'h', '{0}', 0, '', 'waiting', 0), ('t', 'run', 1, 'h', '{1}', 0, '', 'parked', 3);
INSERT INTO deletions (subject_id, tenant_id, kind, name, finished_at) VALUES
    ('gone', 't', 'run', 'n', now()), ('going', 't', 'run', 'n', NULL);
"""


@pytest.fixture
def url(postgres_server: Server) -> str:
    return postgres_server.empty("carry_over")


def test_what_waits_or_is_in_work_becomes_jobs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(schema, "VERSION", BEFORE)
        schema.ensure(url)
    with psycopg.connect(url) as connection:
        connection.execute(ROWS.encode())
    schema.ensure(url)
    with psycopg.connect(url, row_factory=dict_row) as connection:
        found = connection.execute("SELECT kind, subject, owner, attempts, late, reason, due_at > now() AS held "
                                   "FROM jobs ORDER BY kind, subject").fetchall()
    assert [tuple(row.values()) for row in found] == [
        ("audience_fit", "fit", "t", 0, False, "away", False),
        ("deletion", "going", "t", 0, False, None, False),
        ("grader_check", "check", "t", 2, False, None, True),
        ("grading", "1", "run", 0, False, None, False),
        ("grading", "2", "run", 3, True, None, False),
        ("package", "package", "t", 0, False, None, False)]


def test_a_gateway_of_the_release_before_adds_jobs_too(postgres_owner_url: str) -> None:
    """The statement of a row is the one of that release: a trigger of its table adds the job."""
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute(ROWS.replace("'t', 't'", "'t', 'carried'").encode())
        found = connection.execute("SELECT kind FROM jobs WHERE tenant_id = 't' ORDER BY kind").fetchall()
    assert [kind for (kind,) in found] == ["audience_fit", "deletion", "grader_check", "grading", "grading", "package"]
