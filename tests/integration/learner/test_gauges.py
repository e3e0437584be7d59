"""Gauges of open runs on a real PostgreSQL: whether a run moves, whether it is held, and the gap of its engines."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range

from hone.store.database import Database
from services.learner.driver import lease as leases
from tests.integration.learner.rows import OWNER_A, RunRows, add_run, add_step

HOUR = 3600.0
Moment = Literal["created_at", "started_at"]


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = Database(postgres_url, size=1)
    yield opened
    opened.close()


@pytest.fixture
def run(postgres_owner_url: str) -> RunRows:
    return add_run(postgres_owner_url)


def gauges(database: Database, run: RunRows) -> dict[str, Any]:
    """Return the gauges of a run."""
    (row,) = [row for row in database.all("gauges.open_runs") if row["run"] == run.run_id]
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in row.items()}


def commit(owner_url: str, run: RunRows, n: int, hours_ago: float, planned: float | None = None) -> None:
    """Let a step have been committed so many hours ago, and planned just then or so many hours ago."""
    add_step(owner_url, run, n, "committed")
    planned = hours_ago if planned is None else planned
    with psycopg.connect(owner_url) as connection:
        connection.execute("UPDATE steps SET committed_at = now() - make_interval(secs => %s), "
                           "planned_at = now() - make_interval(secs => %s) "
                           "WHERE run_id = %s AND n = %s", (hours_ago * HOUR, planned * HOUR, run.run_id, n))


def move_back(owner_url: str, run: RunRows, column: Moment, hours: float) -> None:
    """Let something have happened to the run so many hours ago."""
    with psycopg.connect(owner_url) as connection:
        connection.execute(SQL("UPDATE runs SET {} = now() - make_interval(secs => %s) WHERE id = %s").format(
            Identifier(column)), (hours * HOUR, run.run_id))


def move_rests_back(owner_url: str, run: RunRows, *rests: tuple[float, float]) -> None:
    """Let the pauses that a run had have begun and ended so many hours ago."""
    with psycopg.connect(owner_url) as connection:
        [(now, had)] = connection.execute("SELECT now(), rests FROM runs WHERE id = %s", [run.run_id]).fetchall()
        assert len(had) == len(rests)
        moved = Multirange([Range(*(now - timedelta(hours=hours) for hours in rest)) for rest in rests])
        connection.execute("UPDATE runs SET rests = %s WHERE id = %s", (moved, run.run_id))


def held(database: Database) -> int:
    """Have a driver hold the run; return its epoch."""
    lease = leases.acquire(database, OWNER_A, lease_s=60)
    assert lease is not None
    return lease.epoch


def to_state(database: Database, run: RunRows, epoch: int, state: str) -> None:
    database.run("runs.set_state", run_id=run.run_id, epoch=epoch, state=state, reason=None)


def measure(database: Database, run: RunRows, step: int, values: dict[str, float]) -> None:
    database.run("metrics.record", run_id=run.run_id, tenant_id=run.tenant_id, step=step,
                 names=list(values), values=list(values.values()))


def test_a_run_is_quiet_since_its_last_step(database: Database, run: RunRows, postgres_owner_url: str) -> None:
    held(database)
    move_back(postgres_owner_url, run, "started_at", 9)
    assert gauges(database, run)["quiet_s"] == pytest.approx(9 * HOUR, abs=60)
    commit(postgres_owner_url, run, 1, hours_ago=0.5)
    assert gauges(database, run)["quiet_s"] == pytest.approx(HOUR / 2, abs=60)


def test_a_paused_run_is_not_quiet_and_one_that_goes_on_begins_anew(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    epoch = held(database)
    move_back(postgres_owner_url, run, "started_at", 9)
    commit(postgres_owner_url, run, 1, hours_ago=8)
    assert gauges(database, run)["quiet_s"] == pytest.approx(8 * HOUR, abs=60)
    to_state(database, run, epoch, "paused")
    assert gauges(database, run)["quiet_s"] is None
    to_state(database, run, epoch, "running")
    assert gauges(database, run)["quiet_s"] < 60


def rest(database: Database, run: RunRows, epoch: int) -> None:
    to_state(database, run, epoch, "paused")
    to_state(database, run, epoch, "running")


def test_a_step_takes_the_time_before_and_after_its_run_rested(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    epoch = held(database)
    commit(postgres_owner_url, run, 1, hours_ago=8)
    rest(database, run, epoch)
    rest(database, run, epoch)
    move_rests_back(postgres_owner_url, run, (7.25, 5), (4.75, 2))
    commit(postgres_owner_url, run, 2, hours_ago=1)
    assert gauges(database, run)["step_s"] == pytest.approx(2 * HOUR, abs=60)
    commit(postgres_owner_url, run, 3, hours_ago=0.5)
    assert gauges(database, run)["step_s"] == pytest.approx(HOUR / 2, abs=60)
    rest(database, run, epoch)
    assert gauges(database, run)["step_s"] == pytest.approx(HOUR / 2, abs=60), "a later pause is none in it"


def test_a_step_that_was_planned_goes_on_in_a_pause_and_the_next_one_rests_from_its_commit(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    epoch = held(database)
    commit(postgres_owner_url, run, 1, hours_ago=8)
    rest(database, run, epoch)
    move_rests_back(postgres_owner_url, run, (7, 2))
    commit(postgres_owner_url, run, 2, hours_ago=6, planned=7.5)
    assert gauges(database, run)["step_s"] == pytest.approx(2 * HOUR, abs=60)
    commit(postgres_owner_url, run, 3, hours_ago=1)
    assert gauges(database, run)["step_s"] == pytest.approx(HOUR, abs=60)


def test_a_trainer_is_not_idle_while_its_run_rests(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    epoch = held(database)
    commit(postgres_owner_url, run, 1, hours_ago=8)
    rest(database, run, epoch)
    move_rests_back(postgres_owner_url, run, (7, 3))
    commit(postgres_owner_url, run, 2, hours_ago=1, planned=2)
    assert gauges(database, run)["idle_s"] is None, "nothing was measured"
    measure(database, run, 2, {"trainer/idle_s": 6 * HOUR})
    row = gauges(database, run)
    assert (row["idle_s"], row["step_s"]) == (pytest.approx(2 * HOUR, abs=60), pytest.approx(3 * HOUR, abs=60))


def test_a_run_that_ends_while_it_is_paused_rests_no_more(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    epoch = held(database)
    to_state(database, run, epoch, "paused")
    to_state(database, run, epoch, "paused")
    to_state(database, run, epoch, "cancelled")
    with psycopg.connect(postgres_owner_url) as connection:
        found = connection.execute("SELECT upper(rests) = ended_at FROM runs WHERE id = %s", [run.run_id]).fetchone()
    assert found == (True,)


def test_a_run_that_no_driver_holds_says_for_how_long(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    move_back(postgres_owner_url, run, "created_at", 1)
    assert gauges(database, run)["unheld_s"] == pytest.approx(HOUR, abs=60), "since it was made"
    held(database)
    assert gauges(database, run)["unheld_s"] == 0
    database.run("runs.release_leases", owner=OWNER_A)
    assert 0 <= gauges(database, run)["unheld_s"] < 60, "since its last holder left"


def test_the_gap_on_the_probe_is_a_gauge_beside_that_of_samples(
    database: Database, run: RunRows, postgres_owner_url: str
) -> None:
    held(database)
    commit(postgres_owner_url, run, 1, hours_ago=0)
    measure(database, run, 1, {"gap/mean": 0.25, "gap/probe_mean": 0.5})
    row = gauges(database, run)
    assert (row["gap"], row["probe_gap"]) == ("0.25", "0.5")
