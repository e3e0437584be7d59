"""The rows of killed engines and workers are deleted after an hour; rows with a newer heartbeat stay."""

from collections.abc import Iterator

import psycopg
import pytest

from hone.process.heartbeat import FORGET_S, forget_silent
from hone.store.database import Database

HEARD = "now() - make_interval(secs => %s)"


@pytest.fixture
def reported(postgres_url: str, postgres_owner_url: str) -> Iterator[Database]:
    with psycopg.connect(postgres_owner_url) as connection:
        for name, age_s in (("killed", FORGET_S + 60), ("frozen", FORGET_S - 60), ("well", 0)):
            connection.execute(
                "INSERT INTO engines (id, address, kind, build, heartbeat_at) VALUES (%s, 'nowhere', 'native', '{}', "
                f"{HEARD})", (f"silent-{name}", age_s))
            connection.execute(f"INSERT INTO workers (id, kind, heartbeat_at) VALUES (%s, 'rollout', {HEARD})",
                               (f"silent-{name}", age_s))
    database = Database(postgres_url)
    yield database
    database.close()


def test_a_row_without_a_heartbeat_for_an_hour_is_deleted(reported: Database, caplog: pytest.LogCaptureFixture) -> None:
    assert forget_silent(reported) == 2
    for statement in ("engines.all", "workers.all"):
        left = [row["id"] for row in reported.all(statement) if row["id"].startswith("silent-")]
        assert left == ["silent-frozen", "silent-well"]
    assert "engine silent-killed has been silent for more than 60 minutes" in caplog.text
    assert forget_silent(reported) == 0

