"""What requests deleted is removed in batches, through kills, and shared files stay."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hone import ids
from hone.store import objects as stores
from hone.store.database import Database
from hone.store.objects import Objects
from hone.telemetry import metrics
from services.learner.driver import deletions
from services.learner.driver.deletions import Deletions
from services.learner.driver.orphans import Orphans
from tests.integration.learner.rows import RunRows, add_run, add_step, add_version
from tests.support.learner import deleting

BATCH = 3
GROUPS, SAMPLES = 7, 2
TABLES = ("groups", "trajectories", "grades", "grading_jobs", "prompts", "metrics", "evaluations", "events", "steps",
          "collections", "runs")


@dataclass(frozen=True)
class World:
    """A database, its object store, and the two workers that a driver process runs."""

    url: str
    database: Database
    objects: Objects
    deletions: Deletions
    orphans: Orphans

    def do(self, statement: str, *values: object) -> list[Any]:
        with psycopg.connect(self.url) as connection:
            found = connection.execute(statement.encode(), values)
            return found.fetchall() if found.description else []

    def count(self, table: str, run_id: str) -> int:
        column = "id" if table == "runs" else "run_id"
        return int(self.do(f"SELECT count(*) FROM {table} WHERE {column} = %s", run_id)[0][0])

    def work(self) -> bool:
        """Remove a batch; return False if there was nothing to do."""
        return deleting.work(self.database, self.deletions)

    def finish(self) -> int:
        """Work until there is nothing to do; return how many batches that took."""
        return next(turn for turn in range(1000) if not self.work())

    def sweep(self) -> list[str]:
        """Do a pass of the orphans' sweep, and return the keys that are left."""
        self.do("UPDATE orphan_sweeps SET due_at = now()")
        self.orphans.sweep()
        return [key for key in self.objects.list("") if not key.startswith("sweeps/")]


@pytest.fixture
def world(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Iterator[World]:
    database, objects = Database(postgres_url), stores.connect(f"file://{tmp_path}/objects")
    found = World(postgres_owner_url, database, objects, Deletions(database, objects, 0.0, BATCH),
                  Orphans(database, objects, grace_s=3600, pause_s=60))
    found.do("UPDATE deletions SET finished_at = now() WHERE finished_at IS NULL")
    found.do("DELETE FROM jobs")
    found.do("UPDATE models SET deleted_at = NULL")
    found.do("DELETE FROM orphans")
    found.do("UPDATE orphan_sweeps SET after = ''")
    yield found
    database.close()


def manifest(*keys: str) -> str:
    files = {key: {"key": key, "sha256": key, "bytes": 1} for key in keys}
    return json.dumps({"files": files, "weights_sha256": keys[0]})


def full_run(world: World) -> RunRows:
    """Return an ended run with rows in every table and an object in every folder."""
    run = add_run(world.url)
    world.do("UPDATE runs SET state = 'succeeded' WHERE id = %s", run.run_id)
    for number in range(GROUPS):
        part = f"runs/{run.run_id}/parts/{number}.parquet"
        world.objects.put(part, b"1")
        (group,) = world.do(
            "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id,"
            " deadline, parts) VALUES (%s, %s, 'train', %s, 1, '', '{}', %s, now(), %s) RETURNING id",
            run.tenant_id, run.run_id, number, run.model_id, [part])[0]
        for index in range(SAMPLES):
            named = (run.tenant_id, run.run_id, group, index)
            world.do("INSERT INTO trajectories (tenant_id, run_id, group_id, index, part, row, prompt_tokens,"
                     " completion_tokens, finish_reason, status) VALUES (%s, %s, %s, %s, %s, 0, 1, 1, 'stop', 'ok')",
                     *named, part)
            world.do("INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, status, value)"
                     " VALUES (%s, %s, %s, %s, 'h', 'ok', 1)", *named)
        world.do("INSERT INTO grading_jobs (tenant_id, run_id, group_id, grader_hash, indexes, regrade_no, body, state)"
                 " VALUES (%s, %s, %s, 'h', '{0}', 0, '', 'parked')", run.tenant_id, run.run_id, group)
    world.do("INSERT INTO prompts (run_id, task_hash, tenant_id, text) VALUES (%s, '', %s, 'asked')", run.run_id,
             run.tenant_id)
    add_step(world.url, run, 1, "committed")
    world.do("INSERT INTO metrics (run_id, tenant_id, step, name, value) VALUES (%s, %s, 1, 'reward/mean', 1)",
             run.run_id, run.tenant_id)
    world.do("INSERT INTO evaluations (run_id, tenant_id, step, source, series, tasks, scores) "
             "VALUES (%s, %s, 1, '', 'greedy', '{a}', '{1}')", run.run_id, run.tenant_id)
    world.do("INSERT INTO events (tenant_id, run_id, kind, message) VALUES (%s, %s, 'created', 'm')",
             run.tenant_id, run.run_id)
    world.do("INSERT INTO usage (tenant_id, run_id, kind, amount) VALUES (%s, %s, 'trained_tokens', 5)",
             run.tenant_id, run.run_id)
    world.do("INSERT INTO collections (run_id, tenant_id, name, version) VALUES (%s, %s, 'verification', 1)",
             run.run_id, run.tenant_id)
    world.do("INSERT INTO collection_items (run_id, tenant_id, name, version, place, body) VALUES"
             " (%s, %s, 'verification', 1, 0, '{}')", run.run_id, run.tenant_id)
    return run


def with_files(world: World, run: RunRows, number: int) -> str:
    """Add a version whose weights are stored, and return its id."""
    version = add_version(world.url, run, number)
    key = f"models/{run.model_id}/versions/{version}/model.safetensors"
    world.objects.put(key, b"1")
    world.do("UPDATE versions SET manifest = %s WHERE id = %s", manifest(key), version)
    return version


def delete(world: World, kind: str, subject: str, tenant: str) -> None:
    world.do("INSERT INTO deletions (subject_id, tenant_id, kind, name) VALUES (%s, %s, %s, 'n')",
             subject, tenant, kind)
    if kind == "run":
        world.do("UPDATE runs SET deleted_at = now() WHERE id = %s", subject)


def finished(world: World, subject: str) -> bool:
    return bool(world.do("SELECT finished_at IS NOT NULL FROM deletions WHERE subject_id = %s", subject)[0][0])


def test_a_run_goes_in_batches_with_all_that_is_its_own(world: World) -> None:
    run, other = full_run(world), full_run(world)
    with_files(world, run, 0)
    kept = with_files(world, other, 0)
    delete(world, "run", run.run_id, run.tenant_id)
    assert world.work()
    assert world.count("groups", run.run_id) == GROUPS - BATCH
    assert world.count("trajectories", run.run_id) == (GROUPS - BATCH) * SAMPLES
    assert world.finish() > GROUPS // BATCH
    assert [world.count(table, run.run_id) for table in TABLES] == [0] * len(TABLES)
    assert world.count("usage", run.run_id) == 1, "what it used is billed"
    assert finished(world, run.run_id)
    assert world.do("SELECT 1 FROM models WHERE id = %s", run.model_id) == []
    left = world.sweep()
    assert len(left) == GROUPS + 1
    assert all(other.run_id in key or kept in key for key in left)
    assert world.count("groups", other.run_id) == GROUPS
    assert world.do("SELECT removed_rows >= %s FROM deletions WHERE subject_id = %s",
                    GROUPS * (1 + 2 * SAMPLES), run.run_id) == [(True,)]


def test_samples_go_alone(world: World) -> None:
    run = full_run(world)
    kept = with_files(world, run, 0)
    part = f"runs/{run.run_id}/parts/0.parquet"
    world.do("UPDATE steps SET plan = %s WHERE run_id = %s", json.dumps({"parts": [part], "n": 1}), run.run_id)
    delete(world, "samples", f"{run.run_id}-samples", run.tenant_id)
    world.finish()
    assert [world.count(table, run.run_id) for table in TABLES] == [0] * 5 + [1] * 6, "groups … prompts"
    assert world.do("SELECT plan FROM steps WHERE run_id = %s", run.run_id) == [({"parts": [], "n": 1},)]
    assert finished(world, f"{run.run_id}-samples")
    left = [key for key in world.sweep() if run.run_id in key or run.model_id in key]
    assert len(left) == 1
    assert kept in left[0]
    delete(world, "run", run.run_id, run.tenant_id)
    world.finish()
    assert world.count("runs", run.run_id) == 0, "the run can still be deleted"


def test_a_run_that_has_not_ended_waits(world: World) -> None:
    run = add_run(world.url)
    delete(world, "run", run.run_id, run.tenant_id)
    assert not world.work()
    assert world.do("SELECT deletion_waits_for(d) FROM deletions d WHERE subject_id = %s",
                    run.run_id) == [("the run to end",)]
    world.do("UPDATE runs SET state = 'cancelled' WHERE id = %s", run.run_id)
    world.finish()
    assert finished(world, run.run_id)


def test_versions_that_a_model_starts_from_stay_until_it_goes(world: World) -> None:
    run, child = full_run(world), full_run(world)
    first, base = with_files(world, run, 0), with_files(world, run, 1)
    world.do("UPDATE versions SET parent_id = %s WHERE id = %s", first, base)
    world.do("UPDATE models SET base_version_id = %s WHERE id = %s", base, child.model_id)
    delete(world, "run", run.run_id, run.tenant_id)
    world.finish()
    assert world.do("SELECT id FROM versions WHERE model_id = %s", run.model_id) == [(base,)]
    kept = world.sweep()
    assert any(base in key for key in kept)
    assert not any(first in key for key in kept)
    delete(world, "run", child.run_id, child.tenant_id)
    world.finish()
    assert world.do("SELECT id FROM models WHERE id = ANY (%s)", [run.model_id, child.model_id]) == []
    assert world.sweep() == []


def test_a_model_waits_for_the_runs_that_started_from_it_and_a_dataset_does_not(world: World) -> None:
    run = full_run(world)
    ((model,),) = world.do("SELECT base_artifact_id FROM models WHERE id = %s", run.model_id)
    dataset = ids.new("art")
    world.do("INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest, deleted_at) VALUES"
             " (%s, %s, 'dataset', 'd', '', '{}', now())", dataset, run.tenant_id)
    for artifact in (model, dataset):
        world.objects.put(f"artifacts/{artifact}/file", b"1")
    delete(world, "model", model, run.tenant_id)
    delete(world, "dataset", dataset, run.tenant_id)
    world.finish()
    assert (finished(world, model), finished(world, dataset)) == (False, True)
    assert [key for key in world.sweep() if key.startswith("artifacts/")] == [f"artifacts/{model}/file"]
    delete(world, "run", run.run_id, run.tenant_id)
    world.finish()
    assert finished(world, model)
    assert world.sweep() == []


def test_an_export_and_a_checkpoint_lose_their_files_and_keep_their_rows(world: World) -> None:
    run = full_run(world)
    version, export = with_files(world, run, 1), ids.new("op")
    key = f"models/{run.model_id}/exports/export_1/model.safetensors"
    world.objects.put(key, b"1")
    world.do("INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline,"
             " state, result, deleted_at) VALUES (%s, %s, %s, 1, 'e', 'export', '{}', '', now(), 'done', %s, now())",
             export, run.tenant_id, run.model_id, manifest(key))
    world.do("UPDATE versions SET weights_deleted_at = now() WHERE id = %s", version)
    delete(world, "export", export, run.tenant_id)
    delete(world, "checkpoint", version, run.tenant_id)
    world.finish()
    assert (finished(world, export), finished(world, version)) == (True, True)
    assert not [key for key in world.sweep() if key.startswith("models/")]
    assert world.do("SELECT result ? 'files' FROM operations WHERE id = %s", export) == [(False,)]


class Killed(BaseException):
    """The process ends here."""


def test_a_kill_at_any_moment_costs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second batch ends between rows and objects, or inside its transaction."""
    run = full_run(world)
    with_files(world, run, 0)
    delete(world, "run", run.run_id, run.tenant_id)
    kills = iter(range(10**6))

    def die(*_: object) -> None:
        if next(kills) % 2 == 0:
            raise Killed(secrets.token_hex(2))

    monkeypatch.setattr(deletions, "reach", die)
    monkeypatch.setattr(metrics.ROWS_DELETED, "inc", die)
    for _ in range(200):
        try:
            if not world.work():
                break
        except Killed:
            continue
    assert next(kills) > GROUPS, "it was killed"
    assert finished(world, run.run_id)
    assert [world.count(table, run.run_id) for table in TABLES] == [0] * len(TABLES)
    assert world.sweep() == []
