"""A run that the driver advances while rows stand in for worker and trainer: nothing is sampled or trained."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import psycopg
from psycopg.rows import dict_row

from hone import ids
from hone.api.value_pb2 import AllocateRolloutsResponse
from hone.environments import streams
from hone.environments.contract import Task as Made
from hone.environments.tasks import episode
from hone.spec.run import Slot, TaskSource
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.trajectory import parts
from hone.trajectory.records import Call, Trajectory
from services.learner.driver import lease as leases
from services.learner.driver.limits import Limits, TenantFigures
from services.learner.driver.peers import Task
from services.learner.driver.run import RunDriver
from tests.integration.learner.rows import OWNER_A, RunRows, add_run

Row = dict[str, Any]
Answer = Callable[[Row, int], tuple[str, float, str]]
"""(group, index) -> text, score, status of a sample."""


class Peers:
    """Simulation and value, asked in this process."""

    def draw(self, source: TaskSource, split: str, seed: int, first: int, count: int) -> list[Task]:
        made = streams.draw(
            source.environment or "", source.params, "train" if split == "TRAIN" else "held_out", seed, first, count)
        return [Task({"environment": one.environment, "params": one.params, "seed": one.seed, "item": one.item},
                     one.content_hash) for one in made]

    def allocate(self, run_id: str, slot: Slot, task_hashes: list[str], budget: int, *_: Any) -> Any:  # noqa: ARG002
        return AllocateRolloutsResponse(rollouts=[budget // len(task_hashes)] * len(task_hashes))


class Hints:
    """Wakes no worker."""

    def send(self, count: int) -> int:
        return count


class Loop:
    """A run of a tenant of its own, and stand-ins for every process that works for it.

    A group that is `stuck` is never finished. Its worker takes it, unless `taken` is false. Its deadline passes when no
    process has anything else to do, if it is before the run's. `refuses` returns why a group is refused, or "". `notes`
    returns what a harness notes of a sample's call.
    """

    def __init__(
        self, url: str, owner_url: str, directory: Path, answer: Answer, stuck: Callable[[Row], bool] = lambda _: False,
        taken: bool = True, refuses: Callable[[Row], str] = lambda _: "",
        notes: Callable[[Row, int], Row] = lambda *_: {}, **spec: Any,
    ) -> None:
        self.rows: RunRows = add_run(owner_url, **{"eval": None, **spec})
        self._database, self._owner_url, self._answer = Database(url), owner_url, answer
        self._refuses, self._notes = refuses, notes
        self._settings = Settings(database_url=url, objects_url=f"file://{directory}/objects")
        self._objects = objects.connect(self._settings.objects_url)
        self._stuck, self._taken = stuck, taken
        self.late: list[int] = []  # last committed step at each time that deadlines passed
        self._run = self._leased()

    def go(self, restarts: bool = False) -> str:
        """Advance the run until it has ended and return its state; with `restarts` a new driver takes every action.

        The stand-ins work when the driver has to wait; with `restarts` they work between any two actions.
        """
        while (state := self.one("SELECT state FROM runs WHERE id = %s", self.rows.run_id)) in ("queued", "running"):
            self._run = self._leased() if restarts else self._run
            moved = self._run.advance()
            worked = 0 if moved and not restarts else self._sample() + self._train()
            if not moved and not worked and not self._outlive():
                raise AssertionError(f"nobody has anything to do while the run is {state}")
        return str(state)

    def move(self) -> str:
        """Let another driver take the run's next action; return the run's state after it."""
        self._run = self._leased()
        self._run.advance()
        return str(self.one("SELECT state FROM runs WHERE id = %s", self.rows.run_id))

    def limits(self) -> Limits:
        """Return the limits of the run as its driver sees them."""
        return Limits(self._database, self._run.lease, 60.0, TenantFigures(self._database, 60.0))

    def all(self, query: str, *parameters: Any) -> list[Row]:
        with psycopg.connect(self._owner_url, row_factory=dict_row) as connection:
            return connection.execute(cast(Any, query), parameters).fetchall()

    def one(self, query: str, *parameters: Any) -> Any:
        (row,) = self.all(query, *parameters)
        return next(iter(row.values()))

    def steps(self) -> list[Row]:
        """Return the plan of each step in order."""
        rows = self.all("SELECT plan FROM steps WHERE run_id = %s ORDER BY n", self.rows.run_id)
        return [row["plan"] for row in rows]

    def _leased(self) -> RunDriver:
        self._database.run("runs.release_leases", owner=OWNER_A)
        lease = leases.acquire(self._database, OWNER_A, lease_s=600)
        assert lease is not None
        assert lease.run_id == self.rows.run_id
        return RunDriver(self._settings, self._database, self._objects, cast(Any, Hints()), cast(Any, Peers()), lease)

    def _sample(self) -> int:
        """Have every requested group answered and graded."""
        groups = self.all("SELECT * FROM groups WHERE run_id = %s AND state = 'requested' AND refused IS NULL "
                          "ORDER BY id", self.rows.run_id)
        with psycopg.connect(self._owner_url) as connection:
            taken = [group for group in groups if not self._stuck(group)]
            for group in taken:
                if reason := self._refuses(group):
                    connection.execute("UPDATE groups SET refused = %s WHERE id = %s", (reason, group["id"]))
                else:
                    self._finish(connection, group)
            connection.execute(
                "UPDATE groups SET reason = 'waiting for ' || request_no, attempt = 1, begun = coalesce(begun, "
                "(SELECT max(number) FROM versions v WHERE v.model_id = groups.model_id)) "
                "WHERE run_id = %s AND state = 'requested' AND refused IS NULL AND %s", (self.rows.run_id, self._taken))
        return len(taken)

    def _outlive(self) -> int:
        """Let every deadline of a group pass that is its own and not the run's."""
        with psycopg.connect(self._owner_url) as connection:
            passed = connection.execute(
                "UPDATE groups g SET deadline = now() FROM runs r WHERE r.id = g.run_id AND r.id = %s "
                "AND g.state = 'requested' AND g.deadline > now() AND g.deadline < r.deadline",
                (self.rows.run_id,)).rowcount
        if passed:
            self.late.append(self.one("SELECT coalesce(max(n), 0) FROM steps WHERE run_id = %s AND state = 'committed'",
                                      self.rows.run_id))
        return passed

    def _finish(self, connection: psycopg.Connection[Any], group: Row) -> None:
        order = group["order"]
        task = order["task"]
        item = episode(Made(task["environment"], task["params"], task["seed"], task["item"], "")).reset().item
        key = f"runs/{self.rows.run_id}/parts/{ids.new('part')}.parquet"
        trajectories = []
        for index in range(order["n"]):
            text, score, status = self._answer({**group, "item": item}, index)
            row = (group["id"], index, self.rows.tenant_id, self.rows.run_id)
            connection.execute(
                "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, status, score, "
                "prompt_tokens, completion_tokens, finish_reason) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 3, 2, 'stop')",
                (*row, key, index, status, score))
            connection.execute(
                "INSERT INTO grades (group_id, index, tenant_id, run_id, grader_hash, status, value, extracted) "
                "VALUES (%s, %s, %s, %s, 'hash', %s, %s, %s)", (*row, status, score, text if status == "ok" else None))
            call = Call(0, [1, 2, 3], [4, 2], [-1.0, -1.0], "stop", [], text, [True, True],
                        notes=self._notes(group, index))
            trajectories.append(Trajectory(group["id"], index, group["request_no"], task, group["task_hash"], item,
                                           [call], [], status, score, None))
        self._objects.put(key, parts.encode(trajectories))
        connection.execute(
            "UPDATE groups SET state = 'ready', ready_at = now(), parts = %s, oldest = "
            "(SELECT max(number) FROM versions v WHERE v.model_id = groups.model_id) WHERE id = %s",
            ([key], group["id"]))

    def _train(self) -> int:
        """Finish every queued operation as a trainer would."""
        queued = self.all("SELECT * FROM operations WHERE model_id = %s AND state = 'queued' ORDER BY seq",
                          self.rows.model_id)
        for operation in queued:
            self._execute(operation)
        return len(queued)

    def _execute(self, operation: Row) -> None:
        payload = operation["payload"]
        named = {"model_id": self.rows.model_id, "run_id": self.rows.run_id, "n": payload.get("step")}
        with self._database.transaction() as transaction:
            transaction.run("operations.finish", ids=[operation["id"]], result=json.dumps({}))
            if operation["kind"] != "save":
                return
            version = ids.new("ver")
            transaction.run("versions.add", id=version, tenant_id=self.rows.tenant_id, parent_id=None,
                            model_id=self.rows.model_id, seq=operation["seq"], number=payload["number"], manifest="{}")
            if named["n"] is not None:
                transaction.run("steps.commit", version_id=version, **named)
                transaction.run("groups.use_planned", **named)


def chance(group: Row, index: int) -> float:
    """Return a number from 0 to 1 that belongs to this sample, whichever run of the same spec it is of."""
    return Random(f"{group['purpose']} {group['request_no']} {index}").random()
