"""Objects that no row names are removed after the grace; objects that a row names stay."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from hone import ids
from hone.spec import settings
from hone.spec.problems import Invalid
from hone.store import objects as stores
from hone.store.database import Database
from hone.store.objects import Objects
from services.learner.driver import orphans
from services.learner.driver.orphans import Orphans
from tests.integration.learner.rows import add_run

GRACE_S = 3600.0


@dataclass(frozen=True)
class World:
    """A store and the database whose rows name its objects; time passes when a test says so."""

    url: str
    objects: Objects
    orphans: Orphans

    def do(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute(statement.encode(), values)

    def sweep(self, later_s: float = 0.0) -> int:
        """Let time pass, and do the pass that is then due."""
        self.do("UPDATE orphans SET seen_at = seen_at - make_interval(secs => %s)", later_s)
        self.do("UPDATE orphan_sweeps SET due_at = now()")
        return self.orphans.sweep()

    def put(self, *keys: str) -> list[str]:
        for key in keys:
            self.objects.put(key, b"1")
        return list(keys)

    def keys(self) -> list[str]:
        return [key for key in self.objects.list("") if not key.startswith("sweeps/")]


@pytest.fixture(params=["directory", "bucket"])
def world(
    request: pytest.FixtureRequest, postgres_url: str, postgres_owner_url: str, tmp_path: Path,
) -> Iterator[World]:
    url = f"file://{tmp_path}/objects"
    if request.param == "bucket":
        url = request.getfixturevalue("s3").url(f"orphans-{secrets.token_hex(6)}")
    database, objects = Database(postgres_url), stores.connect(url)
    found = World(postgres_owner_url, objects, Orphans(database, objects, GRACE_S, pause_s=60))
    found.do("DELETE FROM orphans")
    found.do("UPDATE orphan_sweeps SET after = ''")
    yield found
    database.close()


def manifest(*keys: str, weights: str = "none") -> str:
    return json.dumps({"files": {key: {"key": key, "sha256": key, "bytes": 1} for key in keys},
                       "weights_sha256": weights})


def named_everywhere(world: World) -> list[str]:
    """Store an object for each kind of row that can name one, and write those rows."""
    run = add_run(world.url)
    model, version, retired = (ids.new(prefix) for prefix in ("model", "ver", "ver"))
    art, part = ids.new("art"), f"runs/{run.run_id}/parts/"
    of_model = f"models/{model}"
    keys = world.put(
        part + "a.parquet", part + "b.parquet", part + "c.parquet", f"artifacts/{art}/rows.jsonl",
        f"{of_model}/versions/{version}/weights", f"{of_model}/adapters/form_1/adapter_config.json",
        f"{of_model}/snapshots/3-snap_1/learner.json", f"{of_model}/exports/export_1/config.json",
        f"{of_model}/versions/{retired}/config.json")
    world.do("INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest) VALUES (%s, %s, 'dataset', %s, '', %s)",
             art, run.tenant_id, art, manifest(keys[3]))
    world.do("INSERT INTO models (id, tenant_id, config, snapshot) VALUES (%s, %s, '{}', %s)",
             model, run.tenant_id, manifest(keys[6]))
    world.do("INSERT INTO versions (id, tenant_id, model_id, seq, number, state, manifest) VALUES (%s, %s, %s, 1, 1,"
             " 'abandoned', %s)", version, run.tenant_id, model, manifest(keys[4], weights=keys[4]))
    world.do("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, 0, 0, %s)",
             ids.new("ver"), run.tenant_id, run.model_id, manifest(keys[5]))  # a file that another model shares
    world.do("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest, weights_deleted_at) VALUES"
             " (%s, %s, %s, 2, 2, %s, now())", retired, run.tenant_id, model, manifest(keys[8], "gone", weights="gone"))
    world.do("INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline,"
             " state, result) VALUES (%s, %s, %s, 1, 'e', 'export', '{}', '', now(), 'done', %s)",
             ids.new("op"), run.tenant_id, model, manifest(keys[7]))
    world.do("INSERT INTO steps (run_id, tenant_id, n, epoch, plan, group_ids) VALUES (%s, %s, 1, 1, %s, '{}')",
             run.run_id, run.tenant_id, json.dumps({"parts": [keys[2]]}))
    with psycopg.connect(world.url) as connection:
        row = connection.execute(
            "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id,"
            " deadline, parts) VALUES (%s, %s, 'train', 0, 1, '', '{}', %s, now(), %s) RETURNING id",
            (run.tenant_id, run.run_id, run.model_id, [keys[0]])).fetchone()
        assert row is not None
        connection.execute(
            "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,"
            " finish_reason, status) VALUES (%s, 0, %s, %s, %s, 0, 1, 1, 'stop', 'ok')",
            (row[0], run.tenant_id, run.run_id, keys[1]))
    return keys


def test_what_no_row_names_goes_after_the_grace_and_nothing_else(world: World) -> None:
    named, run = named_everywhere(world), ids.new("run")
    model = next(key.split("/")[1] for key in named if key.startswith("models/"))
    orphaned = world.put(
        f"runs/{run}/parts/{ids.new('part')}.parquet", f"models/{model}/versions/{ids.new('ver')}/model.safetensors",
        f"models/{ids.new('model')}/exports/export_2/config.json", f"artifacts/{ids.new('art')}/model.safetensors",
        f"models/{model}/snapshots/9-snap_2/learner.json")
    others = world.put("runs/notes.txt", "models/mine/versions/x", "elsewhere/model_1/versions/x", "health/absent")
    assert [world.sweep(), world.sweep(later_s=3500), world.sweep()] == [0, 0, 0]
    assert world.keys() == sorted([*named, *orphaned, *others])
    assert world.sweep(later_s=200) == len(orphaned)
    assert world.keys() == sorted([*named, *others])
    assert world.sweep(later_s=7200) == 0
    assert world.keys() == sorted([*named, *others])


def test_weights_that_were_let_go_but_not_removed_go(world: World) -> None:
    run, model, version = add_run(world.url), ids.new("model"), ids.new("ver")
    weights, config = world.put(f"models/{model}/versions/{version}/w", f"models/{model}/versions/{version}/c")
    world.do("INSERT INTO models (id, tenant_id, config) VALUES (%s, %s, '{}')", model, run.tenant_id)
    world.do("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest, weights_deleted_at) VALUES"
             " (%s, %s, %s, 1, 1, %s, now())", version, run.tenant_id, model,
             manifest(weights, config, weights=weights))
    world.sweep()
    assert world.sweep(later_s=4000) == 1
    assert world.keys() == [config]


def test_a_commit_that_is_late_keeps_its_object(world: World) -> None:
    run = add_run(world.url)
    part, lost = world.put(f"runs/{run.run_id}/parts/late.parquet", f"runs/{run.run_id}/parts/lost.parquet")
    world.sweep()
    world.do("INSERT INTO steps (run_id, tenant_id, n, epoch, plan, group_ids) VALUES (%s, %s, 1, 1, %s, '{}')",
             run.run_id, run.tenant_id, json.dumps({"parts": [part]}))
    assert world.sweep(later_s=4000) == 1
    left = world.keys()
    assert (part in left, lost in left) == (True, False)


def test_an_upload_that_goes_on_is_spared_and_one_without_parts_expires(world: World) -> None:
    run, art = add_run(world.url), ids.new("art")
    (whole,) = world.put(f"artifacts/{art}/a/config.json")
    begun = world.objects.begin(f"artifacts/{art}/b/model.safetensors", 2**20, "")
    world.do("INSERT INTO uploads (id, tenant_id, kind, name, content, artifact_id) VALUES"
             " (%s, %s, 'base_model', 'm', %s, %s)", art, run.tenant_id, art, art)
    for name, key, unfinished in (("a", whole, None), ("b", begun.key, begun.id)):
        world.do("INSERT INTO upload_files (upload_id, tenant_id, name, bytes, sha256, key, part_bytes, unfinished)"
                 " VALUES (%s, %s, %s, 1, '', %s, 1, %s)", art, run.tenant_id, name, key, unfinished)
    world.sweep()
    assert world.sweep(later_s=4000) == 0
    world.objects.put_part(begun, 1, b"x")
    world.do("UPDATE uploads SET touched_at = now() - interval '2 hours' WHERE id = %s", art)
    world.sweep()
    assert world.sweep(later_s=4000) == 1
    assert world.keys() == []
    with psycopg.connect(world.url) as connection:
        assert connection.execute("SELECT state FROM uploads WHERE id = %s", (art,)).fetchone() == ("expired",)
    world.do("UPDATE uploads SET ended_at = ended_at - interval '2 hours' WHERE id = %s", art)
    world.sweep()
    with psycopg.connect(world.url) as connection:
        assert connection.execute("SELECT count(*) FROM upload_files WHERE upload_id = %s", (art,)).fetchone() == (0,)


def test_a_pass_is_bounded_and_the_next_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "BATCH", 3)
    monkeypatch.setattr(orphans, "_BATCHES", 1)
    run = ids.new("run")
    world.put(*(f"runs/{run}/parts/{number}" for number in range(5)), f"artifacts/{ids.new('art')}/x")
    noted = []
    for _ in range(3):
        world.sweep()
        with psycopg.connect(world.url) as connection:
            noted.append((connection.execute("SELECT count(*) FROM orphans").fetchone() or (0,))[0])
    assert noted == [3, 6, 6]
    assert [world.sweep(later_s=4000), world.sweep(), world.sweep()] == [3, 3, 0]
    assert world.keys() == []


def test_a_sweep_measures_what_each_owner_occupies(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it needs several passes for one owner. What is gone counts no more."""
    monkeypatch.setattr(orphans, "BATCH", 3)
    run = add_run(world.url)
    parts = [f"runs/{run.run_id}/parts/{number}" for number in range(5)]
    world.put(*parts, f"models/{run.model_id}/versions/ver_1/weights", f"runs/{ids.new('run')}/parts/nobodys")

    def measured() -> dict[str, tuple[int, int]]:
        with psycopg.connect(world.url) as connection:
            found = connection.execute("SELECT owner_id, bytes, objects FROM stored_sizes WHERE tenant_id = %s",
                                       (run.tenant_id,)).fetchall()
        return {owner: (size, objects) for owner, size, objects in found}

    for _ in range(2):
        for _ in range(3):
            world.sweep()
        assert measured() == {run.run_id: (5, 5), run.model_id: (1, 1)}
    world.objects.delete([*parts[1:], f"models/{run.model_id}/versions/ver_1/weights"])
    for _ in range(2):
        world.sweep()
    assert measured() == {run.run_id: (1, 1)}


def test_one_of_several_sweeps_and_only_when_it_is_due(world: World) -> None:
    world.put(f"runs/{ids.new('run')}/parts/x")
    assert world.sweep() == 0
    world.do("UPDATE orphans SET seen_at = now() - interval '1 day'")
    assert world.orphans.sweep() == 0  # not due for another minute
    assert world.sweep() == 1


def test_a_store_of_another_database_is_left_alone(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.put("sweeps/of-another", f"runs/{ids.new('run')}/parts/x")
    for _ in range(2):
        assert world.sweep(later_s=4000) == 0
    assert len(world.keys()) == 1
    assert "belongs to another database" in caplog.text


def test_a_grace_shorter_than_leases_is_refused() -> None:
    found = 'HONE_ORPHAN_GRACE_S: found "15", expected more than two leases of HONE_LEASE_S, 10 s'
    with pytest.raises(Invalid, match=found):
        settings.read({"HONE_ORPHAN_GRACE_S": "15", "HONE_LEASE_S": "10"})
