"""The trainer's checkpoints, on a real Postgres."""

import json
import time
from pathlib import Path
from typing import Any, cast

import psycopg

from hone import ids
from hone.models.checkpoint import WEIGHTS
from hone.stack import backup
from hone.store import objects
from hone.store.database import Database
from services.learner.trainer.checkpoints import Checkpoints
from services.learner.trainer.lease import ModelLease
from tests.integration.learner.rows import RunRows, add_run


class Weights:
    """A learner of which only its weights are asked."""

    rank_count = 1

    def weights(self) -> bytes:
        return b"replayed"


def test_a_replay_of_a_version_whose_weights_are_gone_has_nothing_to_be_compared_with(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path
) -> None:
    run = add_run(postgres_owner_url)
    saved = add_version_without_weights(postgres_owner_url, run)
    lease = ModelLease(run.model_id, run.tenant_id, config={}, snapshot_seq=0, snapshot=None, epoch=0)
    store = objects.connect(f"file://{tmp_path}/objects")
    Checkpoints(Database(postgres_url), store, lease).compare(cast(Any, Weights()), [saved])
    with psycopg.connect(postgres_owner_url) as connection:
        replayed = connection.execute("SELECT replayed FROM operations WHERE id = %s", (saved["id"],)).fetchone()
        versions = connection.execute("SELECT state FROM versions WHERE model_id = %s", (run.model_id,)).fetchall()
    assert (replayed, versions) == ((1,), [("live",)])


def test_what_is_retired_during_a_backup_stays_until_its_end(
    postgres_url: str, postgres_owner_url: str, tmp_path: Path
) -> None:
    run = add_run(postgres_owner_url)
    lease = ModelLease(
        run.model_id, run.tenant_id, config={"snapshot_every": 10}, snapshot_seq=0, snapshot=None, epoch=0
    )
    store = objects.connect(f"file://{tmp_path}/objects")
    for name in ("a", "b", "c"):
        store.put(f"models/{name}", b"weights")
    checkpoints = Checkpoints(Database(postgres_url), store, lease)
    with backup.deletions_held_off(postgres_owner_url):
        checkpoints.after_commit(cast(Any, Weights()), 1, 1, ["models/a"])
        checkpoints.after_commit(cast(Any, Weights()), 2, 2, ["models/b"])
        assert list(store.list("")) == ["models/a", "models/b", "models/c"]
    until = time.monotonic() + 120
    while list(store.list("")) != ["models/c"]:  # the server notices the end of the backup's connection a moment later
        checkpoints.after_commit(cast(Any, Weights()), 3, 3, [])
        assert time.monotonic() < until


def add_version_without_weights(owner_url: str, run: RunRows) -> dict[str, Any]:
    """Insert a save that was done and its version, whose weights retention has removed; return the operation's row."""
    saved = {"id": ids.new("op"), "seq": 1}
    manifest = {"files": {WEIGHTS: {"key": "gone", "sha256": "0" * 64, "bytes": 1}}, "weights_sha256": "0" * 64}
    with psycopg.connect(owner_url) as connection:
        connection.execute(
            "INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, state, "
            "deadline) VALUES (%(id)s, %(tenant)s, %(model)s, %(seq)s, 'save', 'save', '{}', 'sha', 'done', now())",
            {**saved, "tenant": run.tenant_id, "model": run.model_id})
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest, weights_deleted_at) "
            "VALUES (%s, %s, %s, 1, 1, %s, now())",
            (ids.new("ver"), run.tenant_id, run.model_id, json.dumps(manifest)))
    return saved
