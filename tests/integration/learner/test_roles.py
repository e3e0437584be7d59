"""The driver of a run with a teacher, on a real Postgres: no group is requested before the teacher is published."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from psycopg.rows import dict_row

from hone import ids
from hone.api.value_pb2 import AllocateRolloutsResponse
from hone.environments.hashing import digest
from hone.queues.hints import Hints
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.store.leases import LeaseLost
from services.learner.driver import lease as leases
from services.learner.driver.peers import Peers, Task
from services.learner.driver.run import RunDriver
from services.learner.trainer.checkpoints import Checkpoints
from services.learner.trainer.lease import ModelLease
from tests.integration.learner.rows import OWNER_A, RunRows, add_run

PROMPTS = 2


class Asked:
    """Stands in for the services of tasks and budgets, and for the hints."""

    def draw(self, *_: Any, first: int = 0, count: int = PROMPTS, **__: Any) -> list[Task]:
        return [Task({"seed": place}, digest(place)) for place in range(first, first + count)]

    def allocate(self, _: str, __: Any, hashes: list[str], budget: int, *___: Any) -> AllocateRolloutsResponse:
        return AllocateRolloutsResponse(rollouts=[budget // len(hashes)] * len(hashes))

    def send(self, _: int) -> None:
        """Wake nobody."""


class Taught:
    """A run with a teacher under a driver's lease, and its rows."""

    def __init__(self, url: str, owner_url: str, folder: Path, **spec: Any) -> None:
        self._owner_url = owner_url
        self.rows: RunRows = add_run(owner_url, algorithm={"preset": "opd"}, eval=None, batch={"prompts": PROMPTS},
                                     roles={"teacher": {"model": "large"}}, **spec)
        self.teacher = self._add_teacher()
        settings = Settings(database_url=url, objects_url=f"file://{folder}/objects", sweep_s=0.001)
        database, store = Database(url), objects.connect(settings.objects_url)
        lease = leases.acquire(database, OWNER_A, lease_s=60)
        assert lease is not None
        assert lease.roles == {"teacher": self.teacher}
        stand_in = Asked()
        self.run = RunDriver(settings, database, store, cast(Hints, stand_in), cast(Peers, stand_in), lease)

    def _add_teacher(self) -> str:
        teacher = ids.new("mod")
        self.execute("INSERT INTO models (id, tenant_id, config) VALUES (%s, %s, '{}')", teacher, self.rows.tenant_id)
        self.execute("UPDATE runs SET roles = %s WHERE id = %s", json.dumps({"teacher": teacher}), self.rows.run_id)
        return teacher

    def execute(self, query: Any, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self._owner_url, row_factory=dict_row) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def publish(self, model_id: str) -> None:
        """Insert version 0, as the trainer does."""
        self.execute("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, 1, 0, "
                     "'{}')", ids.new("ver"), self.rows.tenant_id, model_id)

    def advance(self) -> None:
        """Let the driver take every action that applies now; no driver holds a run that has ended."""
        with suppress(LeaseLost):
            while self.run.advance():
                pass

    def operations(self, model_id: str) -> list[tuple[str, str, Any]]:
        found = self.execute("SELECT kind, state, payload ->> 'number' AS number FROM operations WHERE model_id = %s",
                             model_id)
        return [(row["kind"], row["state"], row["number"]) for row in found]

    def groups(self) -> int:
        return len(self.execute("SELECT id FROM groups WHERE run_id = %s", self.rows.run_id))

    def row(self) -> dict[str, Any]:
        [row] = self.execute("SELECT state, reason, waiting_for FROM runs WHERE id = %s", self.rows.run_id)
        return row


@pytest.fixture(params=[0, 2], ids=["in step", "ahead"])
def taught(request: pytest.FixtureRequest, postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Taught:
    return Taught(postgres_url, postgres_owner_url, tmp_path, max_staleness=request.param)


def test_the_teachers_weights_are_published_before_anything_is_asked(taught: Taught) -> None:
    taught.advance()
    for model_id in (taught.rows.model_id, taught.teacher):
        assert taught.operations(model_id) == [("save", "queued", "0")]
    taught.publish(taught.rows.model_id)
    until = time.monotonic() + 120
    while taught.row()["waiting_for"] is None and time.monotonic() < until:
        taught.advance()
    assert taught.row()["waiting_for"] == "the trainer to publish the teacher's weights"
    assert taught.groups() == 0
    taught.publish(taught.teacher)
    taught.advance()
    assert taught.groups() >= PROMPTS
    assert taught.operations(taught.teacher) == [("save", "queued", "0")]


def test_a_driver_that_takes_over_asks_for_what_is_not_published(taught: Taught) -> None:
    taught.publish(taught.rows.model_id)
    taught.advance()
    assert taught.operations(taught.teacher) == [("save", "queued", "0")]


def test_a_teacher_that_cannot_be_published_fails_the_run_with_the_reason(taught: Taught) -> None:
    taught.advance()
    taught.execute("UPDATE operations SET state = 'failed', reason = 'BadCheckpoint: no weights' WHERE model_id = %s",
                   taught.teacher)
    taught.advance()
    row = taught.row()
    assert (row["state"], row["reason"]) == ("failed", "the teacher's model: BadCheckpoint: no weights")
    assert taught.operations(taught.rows.model_id) == [("save", "failed", "0")]


def test_a_cancelled_run_asks_nothing_more_of_its_teacher(taught: Taught) -> None:
    taught.advance()
    taught.execute("UPDATE runs SET desired = 'cancel' WHERE id = %s", taught.rows.run_id)
    taught.advance()
    assert taught.operations(taught.teacher) == [("save", "failed", "0")]


class Untrained:
    """A learner or a transaction none of whose methods may be called."""


def test_what_nothing_trains_has_no_snapshot(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> None:
    rows = add_run(postgres_owner_url)
    lease = ModelLease(rows.model_id, rows.tenant_id, {"frozen": True, "snapshot_every": 1}, 0, None, epoch=0)
    store = objects.connect(f"file://{tmp_path}/objects")
    checkpoints = Checkpoints(Database(postgres_url), store, lease)
    assert checkpoints.retire(cast(Any, Untrained()), 0) == []
    checkpoints.after_commit(cast(Any, Untrained()), 1, 0, [])
    assert list(store.list("")) == []
