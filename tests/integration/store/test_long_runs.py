"""What is asked with every step looks at a few rows, however many steps a run has had."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from hone.store.database import OPTIONS
from hone.store.sql import statement

STEPS, PROMPTS, FEW = 1000, 4, 100
_ROWS = """
SET session_replication_role = replica;
INSERT INTO tenants (id, name) VALUES ('t', 't');
INSERT INTO models (id, tenant_id, config) VALUES ('m', 't', '{}');
INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline, state, lease_epoch)
VALUES ('r', 't', 'r', '{"steps": 2000, "seed": 0}', '', 'm', now() + '1 day', 'running', 1);
INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task, task_hash, n, sampling, model_id, deadline,
                    state, oldest)
SELECT 't', 'r', 'train', i, 1 + i / %(prompts)s, '{}', i::text, 8, '{}', 'm', now() + '1 day',
       CASE WHEN i < %(prompts)s * %(steps)s THEN 'used' ELSE 'ready' END, i / %(prompts)s
FROM generate_series(0, %(prompts)s * (%(steps)s + 1) - 1) i;
INSERT INTO steps (run_id, tenant_id, n, epoch, state, plan, group_ids)
SELECT 'r', 't', n, 1, 'committed', '{}', '{}' FROM generate_series(1, %(steps)s) n;
INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest, weights_deleted_at)
SELECT 'v' || n, 't', 'm', n, n, '{}', CASE WHEN n < %(steps)s - 4 THEN now() END FROM generate_series(0, %(steps)s) n;
INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline, state)
SELECT n::text, 't', 'm', n, n::text, 'save', '{}', '', now(), 'done' FROM generate_series(1, 3 * %(steps)s) n;
INSERT INTO metrics (run_id, tenant_id, step, name, value)
SELECT 'r', 't', n, name, n FROM generate_series(1, %(steps)s) n, unnest(ARRAY['a', 'b', 'reward/mean']) name;
SET session_replication_role = origin;
ANALYZE
"""
ASKED: dict[str, dict[str, Any]] = {
    "driver.overview": {"run_id": "r", "epoch": 1},
    "driver.group_counts": {"run_id": "r"},
    "driver.expired": {"run_id": "r"},
    "driver.expire_groups": {"run_id": "r", "oldest": 0},
    "driver.ready_samples": {"run_id": "r", "purpose": "train", "kind": "generate", "step": STEPS + 1},
    "trainer.queued": {"model_id": "m"},
    "trainer.step_plan": {"run_id": "r", "n": STEPS},
    "trainer.newest_version": {"model_id": "m"},
    "trainer.outdated_versions": {"model_id": "m", "newest": STEPS, "keep": 4, "checkpoint_every": 0},
    "rollout.claim": {"owner": "w", "count": 64, "lease_s": 30.0},
    "gateway.run": {"run_id": "r"},
}


@pytest.fixture
def connection(postgres_owner_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_owner_url, options=OPTIONS, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(_ROWS, {"steps": STEPS, "prompts": PROMPTS})
        yield connection
        connection.rollback()


def looked_at(node: dict[str, Any]) -> float:
    """Rows that a plan's scans took in their hands, those that they let fall again too."""
    own = 0.0
    if "Relation Name" in node and node["Node Type"] != "ModifyTable":
        own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return own + sum(map(looked_at, node.get("Plans", [])))


@pytest.mark.parametrize("name", ASKED)
def test_a_statement_of_every_step_looks_at_few_rows(connection: psycopg.Connection[Any], name: str) -> None:
    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement(name)}", ASKED[name]).fetchone()
    assert row is not None
    assert looked_at(row[0][0]["Plan"]) < FEW, name


def test_the_newest_values_of_a_long_run_are_told(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(statement("gateway.run"), {"run_id": "r"}).fetchone()
    assert row is not None
    assert (row["step"], row["version_id"], row["reward"]) == (STEPS, f"v{STEPS}", STEPS)
    assert row["metrics"] == {"a": STEPS, "b": STEPS, "reward/mean": STEPS}
