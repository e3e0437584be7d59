"""An executor on a real Postgres, with a learner that computes nothing: what it may commit, and what it reports."""

import json
import logging
import math
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from hone.spec.operations import OptimStep, Payload, Save
from hone.store import objects
from hone.store.database import Database
from hone.telemetry import logs
from services.learner.driver.operations import Named, append
from services.learner.trainer import lease as leases
from services.learner.trainer.executor import ModelExecutor
from tests.integration.learner.rows import RunRows, add_run, add_step, add_version


class Still:
    """A learner whose weights never change."""

    rank_count = 1

    def weights(self) -> bytes:
        return b"weights"

    def probe(self) -> dict[str, Any]:
        return {}

    def snapshot(self) -> dict[str, bytes]:
        return {}


class Broken(Still):
    """A learner whose numbers are not finite any more: a metric of its update, or else its log-probabilities."""

    def __init__(self, norm: float) -> None:
        self._norm = norm

    def optim_step(self, *_: float) -> dict[str, float]:
        return {"grad_norm": self._norm}

    def probe(self) -> dict[str, Any]:
        return {"ids": [[3, 4, 5]], "logp": [[-1.0, math.nan]]}


class Bench:
    """A run's executor, and the rows that it is about."""

    def __init__(self, url: str, owner_url: str, directory: Path) -> None:
        self.run, self.owner_url = add_run(owner_url), owner_url
        self.database = Database(url)
        self._objects = objects.connect(f"file://{directory}/objects")

    def append(self, *operations: Named) -> None:
        with self.database.transaction() as transaction:
            append(transaction, self.run.tenant_id, self.run.model_id, operations)

    def executor(self, monkeypatch: pytest.MonkeyPatch, learner: Still | None = None) -> ModelExecutor:
        """Lease the model, whose weights need no restoring."""
        lease = leases.acquire(self.database, "trainer", lease_s=600)
        assert lease is not None
        assert lease.model_id == self.run.model_id
        monkeypatch.setattr(ModelExecutor, "_restored", lambda _: learner or Still())
        return ModelExecutor(self.database, self._objects, lease, cast(Any, None), token_budget=64, threads=1)

    def operations(self) -> list[tuple[str, str, str]]:
        return self.rows("SELECT state, coalesce(error_category, ''), coalesce(reason, '') FROM operations "
                         "WHERE model_id = %s ORDER BY seq", self.run.model_id)

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with psycopg.connect(self.owner_url) as connection:
            return connection.execute(cast(Any, query), parameters).fetchall()

    def step(self, run: RunRows, n: int) -> str:
        ((state,),) = self.rows("SELECT state FROM steps WHERE run_id = %s AND n = %s", run.run_id, n)
        return str(state)


@pytest.fixture
def bench(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Bench:
    return Bench(postgres_url, postgres_owner_url, tmp_path)


def save(run: RunRows, step: int) -> Payload:
    return Save(run_id=run.run_id, step=step, number=step)


def test_an_executor_commits_its_own_step_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    add_step(bench.owner_url, bench.run, 1)
    bench.append(("a", save(bench.run, 1)), ("again", Save(run_id=bench.run.run_id, step=1, number=1)))
    executor = bench.executor(monkeypatch)
    assert executor.advance()
    assert executor.advance()
    assert not executor.advance()
    assert bench.step(bench.run, 1) == "committed"
    first, second = bench.operations()
    assert first == ("done", "", "")
    assert second[:2] == ("failed", "user")
    assert "version 1" in second[2]


def test_a_step_that_is_over_fails_what_would_commit_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    add_step(bench.owner_url, bench.run, 2, "cancelled")
    bench.append(("a", save(bench.run, 2)))
    executor = bench.executor(monkeypatch)
    assert executor.advance()
    assert not executor.advance()
    ((state, category, reason),) = bench.operations()
    assert (state, category) == ("failed", "user")
    assert "planned" in reason


def test_an_executor_touches_no_step_of_another_model(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    other = add_run(bench.owner_url)
    add_step(bench.owner_url, other, 1)
    ((group,),) = bench.rows(
        "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id, "
        "deadline, state) VALUES (%s, %s, 'train', 0, 1, '', '{}', %s, now(), 'ready') RETURNING id",
        other.tenant_id, other.run_id, other.model_id)
    bench.rows("UPDATE steps SET group_ids = ARRAY[%s::bigint] WHERE run_id = %s RETURNING n", group, other.run_id)
    bench.append(("a", save(other, 1)))
    assert bench.executor(monkeypatch).advance()
    ((state, category, _),) = bench.operations()
    assert (state, category) == ("failed", "user")
    assert bench.step(other, 1) == "planned"
    named = {"run_id": other.run_id, "n": 1}
    assert bench.database.one("steps.plan", model_id=bench.run.model_id, **named) is None
    assert bench.database.one("steps.plan", model_id=other.model_id, **named)
    with bench.database.transaction() as transaction:
        assert transaction.run("groups.use_planned", model_id=bench.run.model_id, **named) == 0
        assert transaction.run("groups.use_planned", model_id=other.model_id, **named) == 1


@pytest.mark.parametrize(("norm", "found"), [
    (math.nan, "metrics: found grad_norm nan, expected a finite number"),
    (1.0, "log-probabilities: found token 2 of the probe nan, expected a finite number")])
@pytest.mark.parametrize("step", [2, None])
def test_a_policy_that_diverged_fails_with_that_sentence_and_keeps_the_version_before(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, norm: float, found: str, step: int | None,
) -> None:
    add_step(bench.owner_url, bench.run, 2)
    bench.append(("a", OptimStep(lr=1.0, clip_norm=1.0)), ("b", Save(run_id=bench.run.run_id, step=step, number=2)))
    assert bench.executor(monkeypatch, Broken(norm)).advance()
    first, second = bench.operations()
    assert first == second
    assert first[:2] == ("failed", "user")
    words = f"the policy diverged: {found}, step 2. Nothing of this step is kept: version 1 has the weights before"
    assert first[2].startswith(words if step else f"the model gives no finite log-probabilities: {found}")
    assert bench.step(bench.run, 2) == "planned"
    assert bench.rows("SELECT id FROM versions WHERE model_id = %s", bench.run.model_id) == []


def test_a_number_is_one_versions(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = add_version(bench.owner_url, bench.run, 3)
    bench.append(("a", Save(run_id=bench.run.run_id, number=3)))
    assert bench.executor(monkeypatch).advance()
    ((state, category, reason),) = bench.operations()
    assert (state, category) == ("failed", "user")
    assert taken in reason


def test_the_line_that_tells_of_a_failure_says_whose(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, Any]] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: lines.append(json.loads(logs.JsonLines().format(record))))
    logger = logging.getLogger("services.learner.trainer.executor")
    monkeypatch.setattr(logger, "handlers", [handler])
    bench.append(("a", save(bench.run, 2)))
    assert bench.executor(monkeypatch).advance()
    (line,) = [line for line in lines if "exception" in line]
    assert (line["run_id"], line["model_id"], line["step"]) == (bench.run.run_id, bench.run.model_id, 2)


def test_an_operation_that_took_two_trainers_down_fails_and_the_next_one_is_executed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.append(("version/0", Save(run_id=bench.run.run_id, number=0)))
    for _ in range(2):
        lease = bench.executor(monkeypatch).lease
        bench.database.run("models.begin_turn", model_id=lease.model_id, epoch=lease.epoch)
        bench.database.run("models.release_leases", owner="trainer")
    executor = bench.executor(monkeypatch)
    assert executor.advance()
    assert bench.operations() == [
        ("failed", "server", "TookDown: 2 trainers in a row ended while they executed it")]
    assert bench.rows("SELECT takedowns, turn_begun FROM models WHERE id = %s", bench.run.model_id) == [(0, None)]
