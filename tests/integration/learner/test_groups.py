"""The order that the driver writes with a group is what a rollout worker's claim returns."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from hone import ids
from hone.resolution.stages import stages
from hone.spec.noise import EvalNoise
from hone.store.database import Database
from hone.trajectory.order import Order, PrivilegedText, Role
from services.learner.driver import lease as leases
from services.learner.driver.budgets import Granted
from services.learner.driver.groups import request_groups, train_sampling
from services.learner.driver.peers import Task
from services.learner.driver.view import Memory, read_view
from tests.integration.learner.rows import OWNER_A, RunRows, add_run

TOOL_LOOP = {"name": "tool_loop", "params": {"syntax": "line"}}


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    database = Database(postgres_url)
    yield database
    database.close()


def requested(database: Database, step: int, purpose: str = "train") -> None:
    """Request one group of two samples from the spec of its step's stage; for an evaluation, from the run's."""
    lease = leases.acquire(database, OWNER_A, lease_s=60)
    assert lease is not None
    if purpose == "train":
        held = next((stage for stage in stages(lease.spec) if step <= stage.last), stages(lease.spec)[-1])
        lease = replace(lease, spec=held.spec)
    with database.transaction() as transaction:
        assert request_groups(transaction, lease, purpose, step, step, None, [Task({"seed": step}, f"hash {step}")],
                              [Granted(2)], train_sampling, traceparent="00-aa-bb-01") == 1
    database.run("runs.release_leases", owner=OWNER_A)


def claimed(database: Database, run: RunRows) -> list[dict[str, Any]]:
    rows = database.all("groups.claim", owner="worker", count=64, lease_s=60.0, tenants=[], holds=[],
                        most=64)
    return sorted((row for row in rows if row["run_id"] == run.run_id), key=lambda row: row["id"])


def add_model(url: str, rows: RunRows, role: str, positions: int | None = None) -> str:
    """Give the run a model for a role, made of a registered one with so many positions, and return its id."""
    model, artifact = ids.new("mod"), None if positions is None else ids.new("art")
    with psycopg.connect(url) as connection:
        if artifact:
            connection.execute("INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest) VALUES "
                               "(%s, %s, 'base_model', %s, 'hash', %s)",
                               (artifact, rows.tenant_id, artifact, json.dumps({"max_positions": positions})))
        connection.execute("INSERT INTO models (id, tenant_id, config, base_artifact_id) VALUES (%s, %s, '{}', %s)",
                           (model, rows.tenant_id, artifact))
        connection.execute("UPDATE runs SET roles = roles || %s WHERE id = %s",
                           (json.dumps({role: model}), rows.run_id))
    return model


def publish(url: str, rows: RunRows, model_id: str) -> str:
    version = ids.new("ver")
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) "
                           "VALUES (%s, %s, %s, 1, 0, '{}')", (version, rows.tenant_id, model_id))
    return version


def test_a_group_is_played_by_the_harness_of_its_stage(database: Database, postgres_owner_url: str) -> None:
    rows = add_run(postgres_owner_url, steps=6, stages=[{"until": 2, "harness": TOOL_LOOP}, {"until": 4}])
    for step in (1, 2, 5):
        requested(database, step)
    requested(database, 1, "eval")
    orders = [Order.model_validate(row["order"]) for row in claimed(database, rows)]
    assert [(order.harness, order.harness_params) for order in orders] == [
        ("tool_loop", {"syntax": "line"})] * 2 + [("chat", {})] * 2


def test_a_claim_returns_the_order_whole(database: Database, postgres_owner_url: str) -> None:
    rows = add_run(postgres_owner_url, seed=7, algorithm={"preset": "opd"},
                   roles={"teacher": {"model": "large", "top_k": 3}},
                   contexts={"privileged": [{"text": "a hint", "match": "s1"}]})
    teacher, user = add_model(postgres_owner_url, rows, "teacher"), add_model(postgres_owner_url, rows, "user", 80)
    requested(database, 1)
    requested(database, 1, "eval")
    train, evaluation = (Order.model_validate(row["order"]) for row in claimed(database, rows))
    assert train == Order(
        purpose="train", request_no=1, step=1, n=2, task={"seed": 1}, task_hash="hash 1", seed=7,
        sampling=train.sampling, model_id=rows.model_id, version_id=None, traceparent="00-aa-bb-01",
        roles={"user": Role(model_id=user, max_positions=80), "teacher": Role(model_id=teacher, top_k=3)},
        privileged=[PrivilegedText(text="a hint", match="s1")])
    assert evaluation == train.model_copy(update={
        "purpose": "eval", "roles": {"user": Role(model_id=user, max_positions=80)}, "privileged": []})


def test_versions_of_roles_are_looked_up_with_each_claim(database: Database, postgres_owner_url: str) -> None:
    rows = add_run(postgres_owner_url)
    user = add_model(postgres_owner_url, rows, "user")
    requested(database, 1)
    [before] = claimed(database, rows)
    assert before["role_versions"] == {}
    version = publish(postgres_owner_url, rows, user)
    database.run("groups.release_claims_of", owner="worker")
    [later] = claimed(database, rows)
    assert (later["role_versions"], later["order"]) == ({"user": version}, before["order"])


class Counted(Database):
    """Counts its statements."""

    asked = 0

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        self.asked += 1
        with super()._connection() as connection:
            yield connection


def test_steps_and_open_groups_are_read_by_one_statement(
    database: Database, postgres_url: str, postgres_owner_url: str
) -> None:
    rows, counted = add_run(postgres_owner_url), Counted(postgres_url)
    requested(database, 1)
    lease = leases.acquire(database, OWNER_A, lease_s=60)
    assert lease is not None
    assert lease.run_id == rows.run_id
    view = read_view(counted, lease, Memory())
    assert (view.train.total, view.open("train", 1).requested, counted.asked) == (1, 1, 1)
    counted.close()


def test_a_judge_of_deviations_is_asked_about_noise_that_leaves_the_truth(
    database: Database, postgres_owner_url: str,
) -> None:
    run = add_run(postgres_owner_url)
    lease = leases.acquire(database, OWNER_A, lease_s=60)
    assert lease is not None
    noise = EvalNoise(types=["misleading", "error"], judge="referee", share=1.0)
    with database.transaction() as transaction:
        for number, kind in enumerate(noise.types):
            request_groups(transaction, lease, "eval", number, 0, None, [Task({"seed": 1}, f"hash {number}")],
                           [Granted(2)], train_sampling, f"noise/{kind}",
                           noise=noise.model_copy(update={"types": [kind]}))
    orders = [Order.model_validate(row["order"]) for row in claimed(database, run)]
    assert {(one.task["noise"]["type"], one.deviation_judge) for one in orders} == {
        ("misleading", "referee"), ("error", None)}
