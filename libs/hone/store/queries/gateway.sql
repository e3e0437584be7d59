-- name: enter
SELECT set_config('role', 'hone_gateway', true), set_config('hone.tenant', %(tenant)s, true)

-- name: alive
SELECT 1 AS one

-- name: claim_key
INSERT INTO idempotency_keys (tenant_id, key, request_sha)
VALUES (%(tenant_id)s, %(key)s, %(request_sha)s)
ON CONFLICT DO NOTHING

-- name: stored_answer
SELECT request_sha, status, response FROM idempotency_keys WHERE key = %(key)s

-- name: keep_answer
UPDATE idempotency_keys SET status = %(status)s, response = %(response)s WHERE key = %(key)s

-- name: artifact
SELECT id, name, hash, manifest, report, created_at FROM artifacts
WHERE kind = %(kind)s AND (id = %(name)s OR name = %(name)s)

-- name: artifacts
SELECT id, name, hash, manifest, report, created_at FROM artifacts
WHERE kind = %(kind)s AND (%(after)s::text IS NULL OR id < %(after)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: add_artifact
INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest, report)
VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(name)s, %(hash)s, %(manifest)s, %(report)s)
ON CONFLICT DO NOTHING

-- name: add_model
INSERT INTO models (id, tenant_id, kind, base_artifact_id, base_version_id, config)
VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(base_artifact_id)s, %(base_version_id)s, %(config)s)

-- name: add_run
INSERT INTO runs (id, tenant_id, key_id, name, spec, spec_sha, policy_model_id, roles, traceparent, deadline)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(name)s, %(spec)s, %(spec_sha)s, %(model_id)s, %(roles)s, %(traceparent)s,
        now() + make_interval(secs => %(deadline_s)s))

-- name: add_event
INSERT INTO events (tenant_id, run_id, kind, message, data)
VALUES (%(tenant_id)s, %(run_id)s, %(kind)s, %(message)s, %(data)s)

-- name: hint
SELECT pg_notify(%(channel)s, %(payload)s)

-- name: run
-- The newest value of each metric: names are stepped through in the index, not read off every step's row.
SELECT r.id, r.name, r.state, r.desired, r.reason, r.waiting_for, r.policy_model_id AS model_id, r.roles, r.spec,
       r.created_at, r.started_at, r.ended_at, r.deadline, (r.spec ->> 'steps')::integer AS steps,
       (r.spec ->> 'seed')::integer AS seed, r.spec -> 'model' ->> 'base' AS base,
       r.spec -> 'algorithm' ->> 'preset' AS algorithm,
       (SELECT m.value FROM metrics m WHERE m.run_id = r.id AND m.name = 'reward/mean'
        ORDER BY m.step DESC LIMIT 1) AS reward,
       coalesce((SELECT s.n FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
        ORDER BY s.n DESC LIMIT 1), 0) AS step,
       (SELECT v.id FROM versions v WHERE v.model_id = r.policy_model_id AND v.state = 'live'
        ORDER BY v.number DESC LIMIT 1) AS version_id,
       (WITH RECURSIVE named AS (
            (SELECT m.name FROM metrics m WHERE m.run_id = %(run_id)s ORDER BY m.name LIMIT 1)
            UNION ALL
            SELECT (SELECT m.name FROM metrics m WHERE m.run_id = %(run_id)s AND m.name > named.name
                    ORDER BY m.name LIMIT 1) FROM named WHERE named.name IS NOT NULL)
        SELECT coalesce(jsonb_object_agg(named.name, latest.value), '{}') FROM named, LATERAL (
            SELECT m.value FROM metrics m WHERE m.run_id = %(run_id)s AND m.name = named.name
            ORDER BY m.step DESC LIMIT 1) latest) AS metrics
FROM runs r WHERE r.id = %(run_id)s

-- name: runs
SELECT r.id, r.name, r.state, r.desired, r.reason, r.waiting_for, r.policy_model_id AS model_id,
       r.created_at, r.started_at, r.ended_at, r.deadline, (r.spec ->> 'steps')::integer AS steps,
       (r.spec ->> 'seed')::integer AS seed, r.spec -> 'model' ->> 'base' AS base,
       r.spec -> 'algorithm' ->> 'preset' AS algorithm,
       (SELECT m.value FROM metrics m WHERE m.run_id = r.id AND m.name = 'reward/mean'
        ORDER BY m.step DESC LIMIT 1) AS reward,
       coalesce((SELECT s.n FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
        ORDER BY s.n DESC LIMIT 1), 0) AS step,
       (SELECT v.id FROM versions v WHERE v.model_id = r.policy_model_id AND v.state = 'live'
        ORDER BY v.number DESC LIMIT 1) AS version_id
FROM runs r
WHERE (%(state)s::text IS NULL OR r.state = %(state)s) AND (%(after)s::text IS NULL OR r.id < %(after)s)
  AND (%(like)s::text IS NULL OR r.spec - 'seed' - 'name' = (
        SELECT o.spec - 'seed' - 'name' FROM runs o WHERE o.id = %(like)s))
  AND (%(base)s::text[] IS NULL OR r.spec -> 'model' ->> 'base' = ANY (%(base)s))
  AND (%(search)s::text IS NULL OR strpos(lower(r.name), lower(%(search)s)) > 0
    OR strpos(r.id, lower(%(search)s)) > 0 OR strpos(lower(r.spec -> 'model' ->> 'base'), lower(%(search)s)) > 0)
ORDER BY r.id DESC LIMIT %(limit)s

-- name: run_counts
SELECT state, count(*)::integer AS runs FROM runs GROUP BY state

-- name: run_state
SELECT id, name, state, desired, policy_model_id FROM runs WHERE id = %(run_id)s

-- name: want
UPDATE runs SET desired = %(desired)s
WHERE id = %(run_id)s AND state IN ('queued', 'running', 'paused') AND (desired <> 'cancel' OR %(desired)s = 'cancel')

-- name: events
SELECT id, kind, step, message, data, created_at FROM events
WHERE run_id = %(run_id)s AND id > %(after)s
ORDER BY id LIMIT %(limit)s

-- name: newest_events
SELECT id, kind, step, message, data, created_at FROM (
    SELECT id, kind, step, message, data, created_at FROM events
    WHERE run_id = %(run_id)s AND id > %(after)s
    ORDER BY id DESC LIMIT %(limit)s) newest ORDER BY id

-- name: metrics
SELECT name, jsonb_agg(jsonb_build_array(step, value) ORDER BY step) AS points FROM metrics
WHERE run_id = %(run_id)s AND step > %(after_step)s AND (%(names)s::text[] IS NULL OR name = ANY (%(names)s))
GROUP BY name ORDER BY name

-- name: checkpoints
SELECT id, number, state, weights_deleted_at IS NULL AS stored, parent_id,
       manifest ->> 'weights_sha256' AS weights_sha256, created_at
FROM versions
WHERE model_id = %(model_id)s AND (%(after)s::text IS NULL
    OR (number, id) < (SELECT last.number, last.id FROM versions last WHERE last.id = %(after)s))
ORDER BY number DESC, id DESC LIMIT %(limit)s

-- name: version
SELECT v.id, v.model_id, v.number, v.weights_deleted_at IS NULL AS stored,
    jsonb_exists(v.manifest -> 'files', 'adapter_model.safetensors') AS adapter,
    v.manifest #>> '{files,tokenizer.json,sha256}' AS tokenizer FROM versions v
WHERE v.id = %(version_id)s AND v.state = 'live'

-- name: newest_version
SELECT v.id, v.model_id, v.number, jsonb_exists(v.manifest -> 'files', 'adapter_model.safetensors') AS adapter,
    v.manifest #>> '{files,tokenizer.json,sha256}' AS tokenizer
FROM versions v
WHERE v.model_id = %(model_id)s AND v.state = 'live' AND v.weights_deleted_at IS NULL
ORDER BY v.number DESC LIMIT 1

-- name: origin
-- The registered model that a version goes back to, over any number of runs.
WITH RECURSIVE line AS (
    SELECT m.base_artifact_id, m.base_version_id FROM versions v JOIN models m ON m.id = v.model_id
    WHERE v.id = %(version_id)s
    UNION ALL
    SELECT m.base_artifact_id, m.base_version_id
    FROM line JOIN versions v ON v.id = line.base_version_id JOIN models m ON m.id = v.model_id)
SELECT a.manifest FROM line JOIN artifacts a ON a.id = line.base_artifact_id

-- name: exports_of_version
SELECT o.id, o.model_id, o.payload ->> 'version_id' AS version_id, o.result, o.created_at, o.finished_at,
       CASE WHEN late THEN 'failed' ELSE o.state END AS state,
       CASE WHEN late THEN 'no trainer finished it within its deadline' ELSE o.reason END AS reason, (SELECT r.id FROM runs r WHERE r.policy_model_id = o.model_id) AS run_id
FROM operations o, LATERAL (SELECT o.state = 'queued' AND o.deadline <= now() AS late) due
WHERE o.kind = 'export' AND o.model_id = %(model_id)s AND o.payload ->> 'version_id' = %(version_id)s
ORDER BY o.seq DESC

-- name: export
SELECT o.id, o.model_id, o.payload ->> 'version_id' AS version_id, o.result, o.created_at, o.finished_at,
       CASE WHEN late THEN 'failed' ELSE o.state END AS state,
       CASE WHEN late THEN 'no trainer finished it within its deadline' ELSE o.reason END AS reason, (SELECT r.id FROM runs r WHERE r.policy_model_id = o.model_id) AS run_id
FROM operations o, LATERAL (SELECT o.state = 'queued' AND o.deadline <= now() AS late) due
WHERE o.kind = 'export' AND o.id = %(export_id)s

-- name: exports
SELECT o.id, o.model_id, o.payload ->> 'version_id' AS version_id, o.result, o.created_at, o.finished_at,
       CASE WHEN late THEN 'failed' ELSE o.state END AS state,
       CASE WHEN late THEN 'no trainer finished it within its deadline' ELSE o.reason END AS reason, r.id AS run_id
FROM operations o JOIN runs r ON r.policy_model_id = o.model_id,
     LATERAL (SELECT o.state = 'queued' AND o.deadline <= now() AS late) due
WHERE o.kind = 'export' AND r.id = %(run_id)s AND (%(after)s::text IS NULL OR o.id < %(after)s)
ORDER BY o.id DESC LIMIT %(limit)s

-- name: lock_lane
SELECT next_seq FROM models WHERE id = %(model_id)s FOR NO KEY UPDATE

-- name: next_seq
UPDATE models SET next_seq = next_seq + 1 WHERE id = %(model_id)s RETURNING next_seq - 1 AS seq

-- name: add_export
INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline)
VALUES (%(id)s, %(tenant_id)s, %(model_id)s, %(seq)s, %(dedupe_key)s, 'export', %(payload)s, %(payload_sha)s,
        now() + make_interval(secs => %(deadline_s)s))

-- name: trajectories
SELECT t.group_id, t.index, g.purpose, g.request_no, g.step, g.series, g.state AS group_state, t.status, t.score,
       t.finish_reason, t.prompt_tokens, t.completion_tokens, t.preview, t.created_at
FROM trajectories t JOIN groups g ON g.id = t.group_id
WHERE t.run_id = %(run_id)s
  AND (t.group_id, t.index) > (%(after_group)s, %(after_index)s)
  AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s)
  AND (%(step)s::integer IS NULL OR g.step = %(step)s)
  AND (%(status)s::text IS NULL OR t.status = %(status)s)
  AND (%(min_score)s::double precision IS NULL OR t.score >= %(min_score)s)
  AND (%(max_score)s::double precision IS NULL OR t.score <= %(max_score)s)
  AND (%(text)s::text IS NULL OR strpos(lower(t.preview), lower(%(text)s)) > 0)
ORDER BY t.group_id, t.index LIMIT %(limit)s

-- name: trajectory
SELECT t.group_id, t.index, g.purpose, g.request_no, g.step, g.series, g.state AS group_state, t.status, t.score,
       t.finish_reason, t.prompt_tokens, t.completion_tokens, t.preview, t.created_at, t.part, t.row,
       (SELECT max(other.index) FROM trajectories other WHERE other.group_id = t.group_id) AS last_index
FROM trajectories t JOIN groups g ON g.id = t.group_id
WHERE t.run_id = %(run_id)s AND t.group_id = %(group_id)s AND t.index = %(index)s

-- name: grades
SELECT id, grader_hash, component, level, status, value, reasons, extracted, decided_by, cost_ms FROM grades
WHERE group_id = %(group_id)s AND index = %(index)s
ORDER BY id

-- name: tokenizer_manifests
-- By the roles that answer calls: the policy's, and of those that its environment asks the ones with another model.
-- NULL where a role's model has no stored version: nobody else's tokenizer could tell.
SELECT DISTINCT ON (named.role) named.role, v.manifest
FROM runs r, LATERAL (
    SELECT 'policy' AS role, r.policy_model_id AS model_id
    UNION ALL SELECT key, value FROM jsonb_each_text(r.roles - 'teacher')) AS named
LEFT JOIN versions v ON v.model_id = named.model_id AND v.state = 'live' AND v.weights_deleted_at IS NULL
WHERE r.id = %(run_id)s
ORDER BY named.role, v.number DESC

-- name: plan_of_group
SELECT s.plan FROM steps s
WHERE s.run_id = %(run_id)s AND s.state = 'committed' AND s.group_ids @> ARRAY[%(group_id)s]::bigint[]

-- name: grader_activity
SELECT graded.type, graded.component, graded.status, count(*)::integer AS grades,
       avg(graded.value)::double precision AS mean_value,
       avg(graded.cost_ms)::double precision AS mean_cost_ms, max(graded.cost_ms) AS max_cost_ms
FROM (SELECT coalesce(g.order #>> '{grader,type}', 'environment') AS type, newest.component, newest.status, newest.value,
             newest.cost_ms
      FROM (SELECT * FROM grades ORDER BY id DESC LIMIT %(limit)s) newest JOIN groups g ON g.id = newest.group_id) graded
GROUP BY graded.type, graded.component, graded.status
ORDER BY graded.type, graded.component, graded.status

-- name: engine_models
SELECT e.engine_id, e.model_id, r.id AS run_id, r.name AS run_name, e.version_id, v.number, e.refused_reason,
       e.generated_tokens, e.generated_samples, e.computed_s, e.loaded_at
FROM engine_models e JOIN models m ON m.id = e.model_id
LEFT JOIN (
    SELECT id, name, policy_model_id AS model_id FROM runs
    UNION ALL SELECT id, name, role.value FROM runs, jsonb_each_text(roles) role) r ON r.model_id = m.id
LEFT JOIN versions v ON v.id = e.version_id
ORDER BY e.engine_id, e.loaded_at DESC NULLS LAST

-- name: usage
SELECT used.id, coalesce(r.name, k.name) AS name, used.amounts FROM (
    SELECT id, jsonb_object_agg(kind, amount) AS amounts FROM (
        SELECT CASE %(by)s WHEN 'run' THEN run_id ELSE key_id END AS id, kind, sum(amount) AS amount FROM usage
        WHERE (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
          AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
          AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
        GROUP BY 1, kind) sums GROUP BY id) used
LEFT JOIN runs r ON r.id = used.id LEFT JOIN api_keys k ON k.id = used.id ORDER BY used.id

-- name: engines
SELECT id, kind, started_at, load, extract(epoch FROM now() - heartbeat_at)::double precision AS age_s
FROM engines ORDER BY id

-- name: engine_addresses
-- Where to ask an engine how it is; no tenant is told.
SELECT id, address FROM engines WHERE heartbeat_at > now() - make_interval(secs => %(fresh_s)s) ORDER BY id
