"""What is old goes without a request, a batch at a time; what is young or in use stays."""

from collections.abc import Iterator

import psycopg
import pytest

from hone import ids
from hone.spec.retention_settings import RetentionSettings
from hone.store.database import Database
from services.learner.driver import retention
from tests.integration.learner.rows import RunRows, add_run, add_version

NEVER = RetentionSettings(preflights_d=None, idempotency_d=None)
LONG: dict[str, None] = {"preflights_d": None, "idempotency_d": None}


@pytest.fixture
def database(postgres_url: str, postgres_owner_url: str) -> Iterator[Database]:
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE runs SET deleted_at = now() WHERE deleted_at IS NULL")
        connection.execute("DELETE FROM idempotency_keys")
    database = Database(postgres_url)
    yield database
    database.close()


def ended(url: str, days: float, preflight: bool = False) -> RunRows:
    run = add_run(url)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE runs SET state = 'succeeded', ended_at = now() - make_interval(secs => 86400 * %s),"
                           " preflight = %s WHERE id = %s", (days, "{}" if preflight else None, run.run_id))
    return run


def marked(url: str) -> dict[str, str]:
    """Return the kind of every deletion by the id of its subject."""
    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT subject_id, kind FROM deletions").fetchall())


def test_old_preflights_go_and_runs_stay_unless_they_are_asked_to_go(
    database: Database, postgres_owner_url: str,
) -> None:
    url = postgres_owner_url
    old, young, run = ended(url, 8, True), ended(url, 6, True), ended(url, 400)
    add_run(url)
    assert retention.sweep(database, NEVER)["journal"] == 0
    assert retention.sweep(database, RetentionSettings())["preflights"] == 1
    found = marked(url)
    assert (found.get(old.run_id), young.run_id in found, run.run_id in found) == ("preflight", False, False)
    assert retention.sweep(database, RetentionSettings(runs_d=399))["runs"] == 1
    assert marked(url)[run.run_id] == "run"
    assert not any(retention.sweep(database, RetentionSettings(runs_d=399)).values()), "again changes nothing"


def test_a_run_from_which_an_open_run_started_stays(database: Database, postgres_owner_url: str) -> None:
    old = ended(postgres_owner_url, 9)
    version, child = add_version(postgres_owner_url, old, 1), add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE models SET base_version_id = %s WHERE id = %s", (version, child.model_id))
    assert retention.sweep(database, RetentionSettings(runs_d=1))["runs"] == 0


def test_batches_are_bounded(database: Database, postgres_owner_url: str) -> None:
    for _ in range(3):
        ended(postgres_owner_url, 8, True)
    assert [retention.sweep(database, RetentionSettings(), batch=2)["preflights"] for _ in range(3)] == [2, 1, 0]


def test_answers_and_lost_calls_go(database: Database, postgres_owner_url: str) -> None:
    run = add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        for key, days in (("old", 3), ("young", 1)):
            connection.execute("INSERT INTO idempotency_keys (tenant_id, key, request_sha, created_at) VALUES"
                               " (%s, %s, '', now() - make_interval(days => %s))", (run.tenant_id, key, days))
            connection.execute("INSERT INTO judge_answers (tenant_id, hash, judge, reply, created_at) VALUES"
                               " (%s, %s, 'j', '{}', now() - make_interval(days => 15 * %s))",
                               (run.tenant_id, key.encode(), days))
        connection.execute("INSERT INTO journal (group_id, index, call, attempt, body) VALUES (-1, 0, 0, 1, '')")
    found = retention.sweep(database, RetentionSettings())
    assert (found["idempotency"], found["judge_answers"], found["journal"]) == (1, 1, 1)


def test_old_checks_of_graders_go_but_for_those_of_open_runs(database: Database, postgres_owner_url: str) -> None:
    run = add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        for name, of, days in (("old", None, 91), ("young", None, 89), ("gone", "run_gone", 91),
                               ("of_open", run.run_id, 91), ("waits", None, None)):
            connection.execute(
                "INSERT INTO grader_checks (id, tenant_id, run_id, grader, grader_hash, set_name, ended_at) VALUES"
                " (%s, %s, %s, '{}', 'h', 'short_answers', now() - make_interval(days => %s))",
                (name, run.tenant_id, of, days))
    assert retention.sweep(database, RetentionSettings())["grader_checks"] == 2
    rows = database.all("grader_checks.page", tenant_id=run.tenant_id, after=None, run_id=None, grader_hash=None,
                        limit=9)
    assert {row["id"] for row in rows} == {"young", "of_open", "waits"}


def test_old_simulations_and_failed_fits_go_and_simulators_stay(database: Database, postgres_owner_url: str) -> None:
    run = add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        for name, state, days in (("done", "done", 91), ("old", "failed", 91), ("young", "failed", 89)):
            connection.execute(
                "INSERT INTO audience_fits (id, tenant_id, dataset, params, state, ended_at) VALUES"
                " (%s, %s, 'logs', '{}', %s, now() - make_interval(days => %s))", (name, run.tenant_id, state, days))
        for name, purpose, days in (("a", "simulation", 91), ("b", "simulation", 89), ("c", "calibration", 91)):
            connection.execute(
                "INSERT INTO audience_groups (id, fit_id, tenant_id, purpose, asked, spec, stratum, users, personas,"
                " fitted, created_at) VALUES (%s, 'done', %s, %s, %s, '{}', '', 1, '{}', '[]',"
                " now() - make_interval(days => %s))",
                (name, run.tenant_id, purpose, name, days))
    assert retention.sweep(database, RetentionSettings())["simulations"] == 1
    with psycopg.connect(postgres_owner_url) as connection:
        assert connection.execute("SELECT array_agg(id ORDER BY id) FROM audience_fits").fetchone() == (
            ["done", "young"],)
        assert connection.execute("SELECT array_agg(id ORDER BY id) FROM audience_groups").fetchone() == (["b", "c"],)


def test_old_exports_go(database: Database, postgres_owner_url: str) -> None:
    run, export = add_run(postgres_owner_url), ids.new("op")
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute(
            "INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline,"
            " state, finished_at)"
            " VALUES (%s, %s, %s, 1, 'e', 'export', '{}', '', now(), 'done', now() - interval '2 days')",
            (export, run.tenant_id, run.model_id))
    assert retention.sweep(database, RetentionSettings(exports_d=3))["exports"] == 0
    assert retention.sweep(database, RetentionSettings(exports_d=1))["exports"] == 1
    assert marked(postgres_owner_url)[export] == "export"


def test_weights_of_ended_runs_go_but_for_those_that_are_needed(database: Database, postgres_owner_url: str) -> None:
    url, days = postgres_owner_url, RetentionSettings(**LONG, versions_d=3)
    old, young, child = ended(url, 4), ended(url, 2), add_run(url)
    versions = [add_version(url, old, number) for number in range(5)]
    add_version(url, young, 1), add_version(url, young, 2)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE models SET base_version_id = %s WHERE id = %s", (versions[2], child.model_id))
    assert retention.sweep(database, days)["versions"] == 1, "one run"
    found = marked(url)
    assert [found.get(version) for version in versions] == [None, "checkpoint", None, "checkpoint", None], (
        "the base, one that a run started from and the newest stay")
    assert retention.sweep(database, days)["versions"] == 0


def test_samples_of_ended_runs_go_and_the_runs_stay(database: Database, postgres_owner_url: str) -> None:
    old, young = ended(postgres_owner_url, 4), ended(postgres_owner_url, 2)
    assert retention.sweep(database, RetentionSettings(**LONG, samples_d=3))["samples"] == 1
    found = marked(postgres_owner_url)
    assert (found.get(f"{old.run_id}-samples"), f"{young.run_id}-samples" in found, old.run_id in found) == (
        "samples", False, False)
    assert retention.sweep(database, RetentionSettings(**LONG, samples_d=3))["samples"] == 0


def test_old_events_of_ended_runs_go(database: Database, postgres_owner_url: str) -> None:
    old, young, going_on = ended(postgres_owner_url, 9), ended(postgres_owner_url, 2), add_run(postgres_owner_url)
    with psycopg.connect(postgres_owner_url) as connection:
        for run in (old, young, going_on):
            for days in (8, 1):
                connection.execute(
                    "INSERT INTO events (tenant_id, run_id, kind, message, created_at)"
                    " VALUES (%s, %s, 'k', %s, now() - make_interval(days => %s))",
                    (run.tenant_id, run.run_id, f"{days} days old", days))
    assert retention.sweep(database, RetentionSettings(**LONG, events_d=7))["events"] == 1
    with psycopg.connect(postgres_owner_url) as connection:
        left = connection.execute("SELECT run_id, count(*) FROM events WHERE run_id = ANY (%s) GROUP BY 1", (
            [old.run_id, young.run_id, going_on.run_id],)).fetchall()
    assert dict(left) == {old.run_id: 1, young.run_id: 2, going_on.run_id: 2}
