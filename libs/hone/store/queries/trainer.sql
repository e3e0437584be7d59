-- name: base_files
SELECT coalesce(a.manifest, v.manifest) AS manifest FROM models m
LEFT JOIN artifacts a ON a.id = m.base_artifact_id
LEFT JOIN versions v ON v.id = m.base_version_id
WHERE m.id = %(model_id)s

-- name: executed
SELECT id, seq, kind, payload, payload_sha FROM operations
WHERE model_id = %(model_id)s AND state = 'done' AND seq > %(after_seq)s AND kind <> 'export' ORDER BY seq

-- name: expire_exports
-- One that nobody finished in time keeps nobody else's operations waiting.
UPDATE operations SET state = 'failed', error_category = 'server', reason = 'no trainer finished it within its deadline',
    finished_at = now()
WHERE model_id = %(model_id)s AND kind = 'export' AND state = 'queued' AND deadline <= now()

-- name: queued
-- What is committed next: up to the first save or export.
SELECT id, seq, kind, payload, payload_sha, (
    SELECT s.traceparent FROM steps s JOIN runs r ON r.id = s.run_id
    WHERE s.run_id = payload ->> 'run_id' AND s.n = (payload ->> 'step')::integer
        AND r.policy_model_id = %(model_id)s) AS traceparent
FROM operations
WHERE model_id = %(model_id)s AND state = 'queued' AND seq <= (
    SELECT min(seq) FROM operations
    WHERE model_id = %(model_id)s AND state = 'queued' AND kind IN ('save', 'export'))
ORDER BY seq

-- name: step_plan
-- The version is the one that the step trains.
SELECT s.plan, s.group_ids, v.id AS version_id FROM steps s JOIN runs r ON r.id = s.run_id
LEFT JOIN versions v ON v.model_id = r.policy_model_id AND v.number = %(n)s - 1 AND v.state = 'live'
WHERE s.run_id = %(run_id)s AND s.n = %(n)s AND r.policy_model_id = %(model_id)s

-- name: insert_version
INSERT INTO versions (id, tenant_id, model_id, seq, number, parent_id, manifest)
VALUES (%(id)s, %(tenant_id)s, %(model_id)s, %(seq)s, %(number)s, %(parent_id)s, %(manifest)s)

-- name: version_at
SELECT id, number, manifest, weights_deleted_at FROM versions
WHERE model_id = %(model_id)s AND seq = %(seq)s AND state = 'live'

-- name: version_by_id
SELECT id, number, manifest, weights_deleted_at FROM versions WHERE model_id = %(model_id)s AND id = %(version_id)s

-- name: version_numbered
SELECT id FROM versions WHERE model_id = %(model_id)s AND number = %(number)s AND state = 'live'

-- name: newest_version
SELECT id FROM versions WHERE model_id = %(model_id)s AND state = 'live' ORDER BY number DESC LIMIT 1

-- name: abandon_version
UPDATE versions SET state = 'abandoned' WHERE id = %(version_id)s

-- name: finish_operations
UPDATE operations SET state = 'done', result = %(result)s, finished_at = now()
WHERE id = ANY(%(ids)s) AND state = 'queued'

-- name: fail_operation
UPDATE operations SET state = 'failed', error_category = %(category)s, reason = %(reason)s, finished_at = now()
WHERE id = %(id)s AND state = 'queued'

-- name: count_replays
UPDATE operations SET replayed = replayed + 1 WHERE id = ANY(%(ids)s)

-- name: commit_step
UPDATE steps s SET state = 'committed', version_id = %(version_id)s, committed_at = now()
FROM runs r WHERE r.id = s.run_id AND r.policy_model_id = %(model_id)s
    AND s.run_id = %(run_id)s AND s.n = %(n)s AND s.state = 'planned'

-- name: use_groups
UPDATE groups g SET state = 'used', ended_at = now()
FROM steps s JOIN runs r ON r.id = s.run_id
WHERE s.run_id = %(run_id)s AND s.n = %(n)s AND r.policy_model_id = %(model_id)s
    AND g.id = ANY(s.group_ids) AND g.run_id = s.run_id AND g.state = 'ready'

-- name: repoint_step
UPDATE steps SET version_id = %(version_id)s WHERE version_id = %(old_version_id)s

-- name: record_snapshot
UPDATE models SET snapshot_seq = %(seq)s, snapshot = %(manifest)s
WHERE id = %(model_id)s AND lease_epoch = %(epoch)s AND snapshot_seq < %(seq)s

-- name: outdated_versions
UPDATE versions v SET weights_deleted_at = now()
WHERE v.model_id = %(model_id)s AND v.weights_deleted_at IS NULL AND v.number > 0
    AND v.number <= %(newest)s - %(keep)s
    AND (%(checkpoint_every)s = 0 OR v.number %% %(checkpoint_every)s <> 0)
    AND NOT EXISTS (SELECT FROM models m WHERE m.base_version_id = v.id)
    AND NOT EXISTS (SELECT FROM groups g WHERE g.version_id = v.id AND g.state = 'requested')
    AND NOT EXISTS (SELECT FROM operations o WHERE o.model_id = v.model_id AND o.kind = 'export'
                    AND o.state = 'queued' AND o.payload ->> 'version_id' = v.id)
RETURNING manifest
