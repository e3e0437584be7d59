"""A run in its thousandth step, the statements of every step, and the rows that a plan reads for them."""

from typing import Any

STEPS, PROMPTS, FEW = 1000, 4, 100
ROWS = """
SET session_replication_role = replica;
INSERT INTO tenants (id, name) VALUES ('t', 't');
INSERT INTO models (id, tenant_id, config) VALUES ('m', 't', '{}');
INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline, state, lease_epoch)
VALUES ('r', 't', 'r', '{"steps": 2000, "seed": 0}', '', 'm', now() + '1 day', 'running', 1);
INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, "order", model_id, deadline,
                    state, oldest)
SELECT 't', 'r', 'train', i, 1 + i / %(prompts)s, i::text, '{}', 'm', now() + '1 day',
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
INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, status, value)
SELECT 't', 'r', g.id, i, 'h', 'ok', 1 FROM groups g, generate_series(0, 1) i;
SET session_replication_role = origin
"""
FILLED = ("grades", "metrics", "operations", "versions", "steps", "groups", "runs", "models", "tenants")
"""The tables of these rows, in an order in which they can be emptied."""
ASKED: dict[str, dict[str, Any]] = {
    "runs.overview": {"run_id": "r", "epoch": 1},
    "groups.count_expired": {"run_id": "r"},
    "groups.expire": {"run_id": "r", "purpose": "train", "oldest": 0},
    "groups.ready_samples": {"run_id": "r", "purpose": "train", "kind": "generate", "step": STEPS + 1},
    "operations.queued": {"model_id": "m"},
    "steps.plan": {"model_id": "m", "run_id": "r", "n": STEPS},
    "versions.numbered": {"model_id": "m", "number": STEPS},
    "versions.newest": {"model_id": "m"},
    "versions.retire": {"model_id": "m", "newest": STEPS, "keep": 4, "checkpoint_every": 0},
    "groups.claim": {"owner": "w", "count": 64, "lease_s": 30.0, "tenants": [], "holds": [], "most": 64},
    "grades.stored": {"tenant_id": "t", "run_id": "r", "grader_hash": "h", "regrade_no": 0,
                      "group_ids": list(range(1, PROMPTS + 1))},
    "grades.add": {"tenant_id": "t", "run_id": "r", "grader_hash": "other", "regrade_no": 0,
                   "group_ids": list(range(1, PROMPTS + 1)),
                   "grades": '[{"group_id": 1, "index": 0, "component": "", "level": "trajectory", "position": 0, '
                             '"place": "", "status": "ok", "value": 1, "reasons": [], "decided_by": "", '
                             '"cost_ms": 0}]'},
    "runs.detail": {"run_id": "r"},
}


def looked_at(node: dict[str, Any]) -> float:
    """Return the rows that a plan's scans and joins read, and the entries of bitmaps' indexes.

    Those that they let fall again count too.
    """
    own = 0.0
    if node["Node Type"] == "Bitmap Index Scan":
        own = node["Actual Rows"]
    elif "Relation Name" in node and node["Node Type"] != "ModifyTable":
        own = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    own += node.get("Rows Removed by Join Filter", 0)
    return own * node["Actual Loops"] + sum(map(looked_at, node.get("Plans", [])))
