-- The operation logs of models. Exports are operations too.

-- name: append
WITH log AS (
    UPDATE models SET next_seq = next_seq + %(count)s WHERE id = %(model_id)s RETURNING next_seq - %(count)s AS seq)
INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline)
SELECT o.id, %(tenant_id)s, %(model_id)s, log.seq + o.place - 1, o.dedupe_key, o.kind, o.payload, o.payload_sha,
    now() + make_interval(secs => %(deadline_s)s)
FROM log, unnest(%(ids)s::text[], %(dedupe_keys)s::text[], %(kinds)s::text[], %(payloads)s::jsonb[],
    %(payload_shas)s::text[]) WITH ORDINALITY AS o (id, dedupe_key, kind, payload, payload_sha, place)
RETURNING id, model_id, seq, dedupe_key, kind, state, payload_sha, result, reason

-- name: by_id
SELECT id, model_id, seq, kind, state, payload_sha, result, reason FROM operations
WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: by_dedupe_key
SELECT id, model_id, seq, dedupe_key, kind, state, payload_sha, result, reason FROM operations
WHERE tenant_id = %(tenant_id)s AND model_id = %(model_id)s AND dedupe_key = ANY(%(dedupe_keys)s)

-- name: queued
-- The operations that are committed next: up to the first save or export.
SELECT id, seq, kind, payload, payload_sha, (
    SELECT s.traceparent FROM steps s JOIN runs r ON r.id = s.run_id
    WHERE s.run_id = payload ->> 'run_id' AND s.n = (payload ->> 'step')::integer
        AND r.policy_model_id = %(model_id)s) AS traceparent
FROM operations
WHERE model_id = %(model_id)s AND state = 'queued' AND seq <= (
    SELECT min(seq) FROM operations
    WHERE model_id = %(model_id)s AND state = 'queued' AND kind IN ('save', 'export'))
ORDER BY seq

-- name: ready_models
SELECT held.model_id FROM unnest(%(model_ids)s::text[]) AS held (model_id) WHERE EXISTS (
    SELECT FROM operations o
    WHERE o.model_id = held.model_id AND o.state = 'queued' AND o.kind IN ('save', 'export'))

-- name: executed
SELECT id, seq, kind, payload, payload_sha FROM operations
WHERE model_id = %(model_id)s AND state = 'done' AND seq > %(after_seq)s AND kind <> 'export' ORDER BY seq

-- name: finish
UPDATE operations SET state = 'done', result = %(result)s, finished_at = now()
WHERE id = ANY(%(ids)s) AND state = 'queued'

-- name: set_waiting_for
UPDATE operations SET waiting_for = %(waiting_for)s
WHERE model_id = %(model_id)s AND state = 'queued' AND waiting_for IS DISTINCT FROM %(waiting_for)s

-- name: fail
UPDATE operations SET state = 'failed', error_category = %(category)s, reason = %(reason)s, finished_at = now()
WHERE id = %(id)s AND state = 'queued'

-- name: cancel
UPDATE operations SET state = 'failed', error_category = 'user', reason = %(reason)s, finished_at = now()
WHERE state = 'queued' AND kind <> 'export' AND model_id IN (
    SELECT r.policy_model_id FROM runs r WHERE r.id = %(run_id)s
    UNION ALL SELECT role.value FROM runs r, jsonb_each_text(r.roles) role WHERE r.id = %(run_id)s)

-- name: count_replays
UPDATE operations SET replayed = replayed + 1 WHERE id = ANY(%(ids)s)

-- name: add_export
INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline)
VALUES (%(id)s, %(tenant_id)s, %(model_id)s, %(seq)s, %(dedupe_key)s, 'export', %(payload)s, %(payload_sha)s,
        now() + make_interval(secs => %(deadline_s)s))

-- name: export
SELECT o.id, o.model_id, o.payload ->> 'version_id' AS version_id, o.result, o.created_at, o.finished_at,
       CASE WHEN late THEN 'failed' ELSE o.state END AS state,
       CASE WHEN late THEN 'no trainer finished it within its deadline' ELSE o.reason END AS reason,
       (SELECT r.id FROM runs r WHERE r.policy_model_id = o.model_id) AS run_id,
       (SELECT r.spec -> 'sampling' FROM runs r WHERE r.policy_model_id = o.model_id) AS trained
FROM operations o, LATERAL (SELECT o.state = 'queued' AND o.deadline <= now() AS late) due
WHERE o.kind = 'export' AND o.id = %(export_id)s AND o.deleted_at IS NULL

-- name: exports_of_run
SELECT o.id, o.model_id, o.payload ->> 'version_id' AS version_id, o.result, o.created_at, o.finished_at,
       CASE WHEN late THEN 'failed' ELSE o.state END AS state,
       CASE WHEN late THEN 'no trainer finished it within its deadline' ELSE o.reason END AS reason, r.id AS run_id,
       r.spec -> 'sampling' AS trained
FROM operations o JOIN runs r ON r.policy_model_id = o.model_id,
     LATERAL (SELECT o.state = 'queued' AND o.deadline <= now() AS late) due
WHERE o.kind = 'export' AND r.id = %(run_id)s AND o.deleted_at IS NULL
    AND (%(after)s::text IS NULL OR o.id < %(after)s)
ORDER BY o.id DESC LIMIT %(limit)s

-- name: exports_of_version
SELECT o.id, o.model_id, o.payload ->> 'version_id' AS version_id, o.result, o.created_at, o.finished_at,
       CASE WHEN late OR o.deleted_at IS NOT NULL THEN 'failed' ELSE o.state END AS state,
       CASE WHEN late THEN 'no trainer finished it within its deadline' ELSE o.reason END AS reason,
       (SELECT r.id FROM runs r WHERE r.policy_model_id = o.model_id) AS run_id,
       (SELECT r.spec -> 'sampling' FROM runs r WHERE r.policy_model_id = o.model_id) AS trained
FROM operations o, LATERAL (SELECT o.state = 'queued' AND o.deadline <= now() AS late) due
WHERE o.kind = 'export' AND o.model_id = %(model_id)s AND o.payload ->> 'version_id' = %(version_id)s
ORDER BY o.seq DESC

-- name: expire_exports
-- An export that no trainer finished in time must not keep other operations waiting.
UPDATE operations SET state = 'failed', error_category = 'server', reason = 'no trainer finished it within its deadline',
    finished_at = now()
WHERE model_id = %(model_id)s AND kind = 'export' AND state = 'queued' AND deadline <= now()
