"""A tenant's quotas of runs and groups: what is above them waits and says so; no other tenant waits for it."""

from threading import Barrier, Thread

import psycopg

from hone.store.database import Database
from services.learner.driver import lease as leases
from tests.integration.learner.rows import add_run


def add_beside(connection: psycopg.Connection, run_id: str, name: str) -> str:
    """Add a queued run like another, of the same tenant, that was made a minute ago."""
    connection.execute(
        "INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline, created_at) "
        "SELECT %s, tenant_id, %s, spec, spec_sha, policy_model_id, deadline, now() - interval '1 minute' "
        "FROM runs WHERE id = %s", [f"{run_id}_{name}", name, run_id])
    return f"{run_id}_{name}"


def test_a_run_above_the_quota_stays_queued_and_says_so(postgres_url: str, postgres_owner_url: str) -> None:
    run, database = add_run(postgres_owner_url), Database(postgres_url, size=2)
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        second, third = (add_beside(connection, run.run_id, name) for name in ("second", "third"))
        connection.execute("UPDATE tenants SET max_runs = 1 WHERE id = %s", [run.tenant_id])
        first = leases.acquire(database, "driver", 60.0)
        assert first is not None
        assert leases.acquire(database, "driver", 60.0) is None
        queued = ({run.run_id, second, third} - {first.run_id}).pop()
        row = database.one("runs.state", run_id=queued)
        assert row is not None
        assert (row["state"], row["waiting_for"]) == (
            "queued", "one of its tenant's runs to end: 1 of 1 have begun (max_runs)")
        connection.execute("UPDATE runs SET state = 'paused' WHERE id = %s", [first.run_id])
        assert leases.acquire(database, "driver", 60.0) is None, "a paused run keeps its place"
        connection.execute("UPDATE runs SET desired = 'cancel' WHERE id = %s", [queued])
        cancelled = leases.acquire(database, "driver", 60.0)
        assert cancelled is not None
        assert cancelled.run_id == queued
        connection.execute("UPDATE runs SET state = 'succeeded' WHERE id = ANY (%s)", [[first.run_id, queued]])
        assert leases.acquire(database, "driver", 60.0) is not None
        assert leases.acquire(database, "driver", 60.0) is None
    database.close()


def test_drivers_that_lease_at_the_same_time_keep_the_quota(postgres_url: str, postgres_owner_url: str) -> None:
    run, database = add_run(postgres_owner_url), Database(postgres_url, size=8)
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        for number in range(15):
            add_beside(connection, run.run_id, str(number))
        connection.execute("UPDATE tenants SET max_runs = 3 WHERE id = %s", [run.tenant_id])
        barrier = Barrier(8)

        def lease() -> None:
            barrier.wait()
            for _ in range(3):
                leases.acquire(database, "driver", 60.0)

        threads = [Thread(target=lease) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = connection.execute("SELECT count(*) FROM runs WHERE tenant_id = %s AND state = 'running'",
                                   [run.tenant_id]).fetchone()
    assert found == (3,)
    database.close()


def test_workers_that_claim_at_the_same_time_keep_the_quota(postgres_url: str, postgres_owner_url: str) -> None:
    run, database = add_run(postgres_owner_url), Database(postgres_url, size=8)
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id,"
            " deadline) SELECT %s, %s, 'train', n, 1, 'hash', '{}', %s, now() + interval '1 hour' "
            "FROM generate_series(1, 100) n",
            [run.tenant_id, run.run_id, run.model_id])
        connection.execute("UPDATE tenants SET max_running_groups = 10 WHERE id = %s", [run.tenant_id])
        barrier, claimed = Barrier(8), list[int]()

        def claim(owner: str) -> None:
            barrier.wait()
            for _ in range(5):
                claimed.extend(row["id"] for row in database.all(
                    "groups.claim", owner=owner, count=3, lease_s=60.0, tenants=[], holds=[], most=64))

        threads = [Thread(target=claim, args=[str(number)]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        connection.execute("DELETE FROM groups WHERE run_id = %s", [run.run_id])
    assert (len(claimed), len(set(claimed))) == (10, 10)
    database.close()
