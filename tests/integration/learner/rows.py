"""Rows that tests of the learner start from."""

import json
from dataclasses import dataclass
from typing import Any

import psycopg

from hone import ids
from hone.spec.run import RunSpec

OWNER_A, OWNER_B = "driver-a", "driver-b"


@dataclass(frozen=True)
class RunRows:
    """Ids of a fresh tenant's run and model."""

    tenant_id: str
    run_id: str
    model_id: str


def add_run(owner_url: str, state: str = "queued", **spec: Any) -> RunRows:
    """Insert a tenant, a base artifact without files, a model and a run; end every other open run."""
    rows = RunRows(ids.new("ten"), ids.new("run"), ids.new("mod"))
    full = RunSpec.model_validate({"name": "test", "model": {"base": "b"}, "task": {"environment": "sort_digits"},
                                   "steps": 3, **spec})
    config = {"seed": full.seed, "optimizer": full.optimizer.model_dump(), "snapshot_every": full.snapshot_every,
              "keep_versions": full.keep_versions, "checkpoint_every": full.checkpoint_every}
    artifact = ids.new("art")
    with psycopg.connect(owner_url) as connection:
        connection.execute("UPDATE runs SET state = 'cancelled' WHERE state IN ('queued', 'running', 'paused')")
        connection.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", (rows.tenant_id, rows.tenant_id))
        connection.execute(
            "INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest) "
            "VALUES (%s, %s, 'base_model', 'b', %s, %s)",
            (artifact, rows.tenant_id, artifact, json.dumps({"files": {}})))
        connection.execute(
            "INSERT INTO models (id, tenant_id, base_artifact_id, config) VALUES (%s, %s, %s, %s)",
            (rows.model_id, rows.tenant_id, artifact, json.dumps(config)))
        connection.execute(
            "INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline, state) "
            "VALUES (%s, %s, 'test', %s, 'sha', %s, now() + interval '1 hour', %s)",
            (rows.run_id, rows.tenant_id, full.model_dump_json(), rows.model_id, state))
    return rows


def add_step(owner_url: str, run: RunRows, n: int, state: str = "planned") -> None:
    """Insert a step of a run without groups."""
    with psycopg.connect(owner_url) as connection:
        connection.execute("INSERT INTO steps (run_id, tenant_id, n, epoch, plan, group_ids, state) "
                           "VALUES (%s, %s, %s, 1, '{}', '{}', %s)", (run.run_id, run.tenant_id, n, state))


def add_version(owner_url: str, run: RunRows, number: int) -> str:
    """Insert a live version of a run's model without files and return its id."""
    version = ids.new("ver")
    with psycopg.connect(owner_url) as connection:
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, %s, %s, '{}')",
            (version, run.tenant_id, run.model_id, 1000 + number, number))
    return version
