"""The driver process on a real Postgres: trouble of one run never keeps it from the other runs."""

import threading
import time
from pathlib import Path

import psycopg
import pytest

from hone.spec.settings import Settings
from hone.store.database import Database
from services.learner.driver import lease as leases
from services.learner.driver import process
from services.learner.driver.run import RunDriver
from tests.integration.learner.rows import OWNER_A, OWNER_B, add_run


def test_a_run_lost_while_it_is_failed_is_left_to_its_new_holder(
    monkeypatch: pytest.MonkeyPatch, postgres_url: str, postgres_owner_url: str, tmp_path: Path
) -> None:
    class Spoiled(RunDriver):
        def advance(self) -> bool:
            database = Database(postgres_url)
            database.run("runs.release_leases", owner=OWNER_A)
            assert leases.acquire(database, OWNER_B, lease_s=60)
            database.close()
            raise ValueError("spoiled")

    monkeypatch.setattr(process, "RunDriver", Spoiled)
    settings = Settings(database_url=postgres_url, objects_url=f"file://{tmp_path}/objects",
                        broker_url=f"filesystem://{tmp_path}/broker", sweep_s=0.1)
    driver = process.Driver(settings, OWNER_A)
    working = threading.Thread(target=driver.run)
    working.start()
    try:
        for _ in range(2):
            run = add_run(postgres_owner_url)
            assert held_by(postgres_owner_url, run.run_id, OWNER_B) == "running"
    finally:
        driver.stop()
        working.join()


def held_by(owner_url: str, run_id: str, owner: str) -> str | None:
    """Return a run's state once this owner holds it; None if that does not happen within 20 s."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with psycopg.connect(owner_url) as connection:
            found = connection.execute(
                "SELECT state FROM runs WHERE id = %s AND lease_owner = %s", (run_id, owner)).fetchone()
        if found:
            return str(found[0])
        time.sleep(0.05)
    return None
