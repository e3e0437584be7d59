-- name: overview
SELECT r.desired, r.state, r.stage, r.waiting_for, r.deadline <= now() AS past_deadline, last.committed, last.planned,
    (SELECT id FROM versions v
        WHERE v.model_id = r.policy_model_id AND v.number = last.committed AND v.state = 'live') AS version_id,
    ARRAY(SELECT role FROM jsonb_each_text(r.roles) AS named (role, model_id) WHERE NOT EXISTS (
        SELECT FROM versions v WHERE v.model_id = named.model_id AND v.number = 0 AND v.state = 'live')
        ORDER BY role) AS unpublished,
    coalesce((SELECT jsonb_object_agg(name, jsonb_build_object('version', version, 'state', state))
        FROM (SELECT DISTINCT ON (name) name, version, state FROM collections c WHERE c.run_id = r.id
            ORDER BY name, version DESC) AS newest), '{}') AS collected,
    coalesce(
        (SELECT reason FROM operations o WHERE o.model_id = r.policy_model_id AND o.state = 'failed'
            AND o.kind <> 'export' ORDER BY seq LIMIT 1),
        (SELECT format('the %%s''s model: %%s', role, o.reason) FROM jsonb_each_text(r.roles) AS named (role, model_id)
            JOIN operations o USING (model_id) WHERE o.state = 'failed' ORDER BY role, seq LIMIT 1),
        (SELECT format('%%s group %%s: %%s', purpose, request_no, refused) FROM groups g
            WHERE g.run_id = r.id AND g.state = 'requested' AND g.refused IS NOT NULL
                AND (g.kind <> 'generate' OR NOT EXISTS (
                    SELECT FROM groups o
                    WHERE o.run_id = g.run_id AND o.purpose = g.purpose AND (g.purpose = 'train' OR o.step = g.step)
                        AND (o.ready_at IS NOT NULL OR o.state = 'requested' AND o.refused IS NULL)))
            ORDER BY g.id LIMIT 1)) AS failure
FROM runs r, LATERAL (
    SELECT coalesce((SELECT n FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
            ORDER BY n DESC LIMIT 1), 0) AS committed,
        coalesce((SELECT max(n) FROM steps s WHERE s.run_id = r.id), 0) AS planned) AS last
WHERE r.id = %(run_id)s AND r.lease_epoch = %(epoch)s

-- name: group_counts
SELECT purpose, step, count(*) AS total, count(*) FILTER (WHERE state = 'requested') AS requested,
    count(*) FILTER (WHERE state = 'ready') AS ready,
    count(*) FILTER (WHERE state = 'requested' AND (claim_expires IS NULL OR claim_expires <= now())) AS unclaimed,
    count(*) FILTER (WHERE state = 'requested' AND deadline <= now()) AS late,
    min(begun) FILTER (WHERE state = 'requested') AS begun,
    min(oldest) FILTER (WHERE state = 'ready' AND NOT EXISTS (
        SELECT FROM steps s WHERE s.run_id = g.run_id AND s.state = 'planned' AND g.id = ANY (s.group_ids))) AS oldest,
    max(reason) FILTER (WHERE state = 'requested') AS reason,
    count(*) FILTER (WHERE state = 'requested' AND refused IS NOT NULL AND kind = 'generate' AND EXISTS (
        SELECT FROM groups o
        WHERE o.run_id = g.run_id AND o.purpose = g.purpose AND (g.purpose = 'train' OR o.step = g.step)
            AND o.ready_at IS NOT NULL)) AS refused
FROM groups g WHERE run_id = %(run_id)s AND state IN ('requested', 'ready') GROUP BY purpose, step

-- name: next_request
SELECT coalesce(max(request_no) + 1, 0) AS request_no FROM groups WHERE run_id = %(run_id)s AND purpose = %(purpose)s

-- name: next_place
-- The place of the first task of the run that no group has. Each task is requested once, to be trained on or judged.
SELECT count(*) AS place FROM groups
WHERE run_id = %(run_id)s AND purpose IN ('train', 'probe') AND kind = 'generate'

-- name: request_groups
-- The columns beside the order repeat the fields that other statements search by.
INSERT INTO groups (tenant_id, run_id, kind, series, deadline, purpose, request_no, step, task_hash, model_id,
                    version_id, "order")
SELECT %(tenant_id)s, %(run_id)s, %(kind)s, %(series)s,
    least(r.deadline, now() + make_interval(secs => %(deadline_s)s)),
    o.content ->> 'purpose', (o.content ->> 'request_no')::int, (o.content ->> 'step')::int,
    o.content ->> 'task_hash', o.content ->> 'model_id', o.content ->> 'version_id', o.content
FROM unnest(%(orders)s::jsonb[]) AS o (content), runs r
WHERE r.id = %(run_id)s
ON CONFLICT (run_id, purpose, request_no) DO NOTHING

-- name: role_models
-- The models of a run beside its policy, and how many tokens each can read, as the artifact of its base says.
SELECT named.role, named.model_id, (
    WITH RECURSIVE line AS (
        SELECT m.base_artifact_id, m.base_version_id FROM models m WHERE m.id = named.model_id
        UNION ALL
        SELECT m.base_artifact_id, m.base_version_id FROM line
        JOIN versions b ON b.id = line.base_version_id JOIN models m ON m.id = b.model_id)
    SELECT (a.manifest ->> 'max_positions')::integer
    FROM line JOIN artifacts a ON a.id = line.base_artifact_id) AS max_positions
FROM runs r, jsonb_each_text(r.roles) AS named (role, model_id) WHERE r.id = %(run_id)s

-- name: ready_samples
-- The samples of ready groups that no step has planned, the stalest first.
SELECT g.id AS group_id, g.request_no, g.task_hash, g.series, g.oldest, t.index, t.part, t.prompt_tokens,
    t.completion_tokens, t.finish_reason, t.status, t.score, r.id AS grade_id
FROM groups g
JOIN trajectories t ON t.group_id = g.id
LEFT JOIN LATERAL (
    SELECT id FROM grades r WHERE r.group_id = t.group_id AND r.index = t.index AND r.component = ''
    ORDER BY regrade_no DESC LIMIT 1) r ON true
WHERE g.run_id = %(run_id)s AND g.purpose = %(purpose)s AND g.kind = %(kind)s AND g.state = 'ready'
    AND g.step <= %(step)s
    AND NOT EXISTS (
        SELECT FROM steps s WHERE s.run_id = g.run_id AND s.state = 'planned' AND g.id = ANY (s.group_ids))
ORDER BY g.oldest, g.request_no, t.index

-- name: reward_components
-- The components of each sample's newest grade, by name.
SELECT group_id, index, jsonb_object_agg(component, value) AS components
FROM (
    SELECT DISTINCT ON (group_id, index, component) group_id, index, component, value FROM grades
    WHERE group_id = ANY (%(group_ids)s::bigint[]) AND level = 'trajectory' AND component <> '' AND value IS NOT NULL
    ORDER BY group_id, index, component, regrade_no DESC) newest
GROUP BY group_id, index

-- name: extracted
-- The final answers that graders extracted from samples.
SELECT id, extracted FROM grades WHERE id = ANY (%(grade_ids)s::bigint[]) AND extracted IS NOT NULL

-- name: add_collection
INSERT INTO collections (run_id, tenant_id, name, version, state)
VALUES (%(run_id)s, %(tenant_id)s, %(name)s, %(version)s, %(state)s)

-- name: add_items
INSERT INTO collection_items (run_id, tenant_id, name, version, place, body)
SELECT %(run_id)s, %(tenant_id)s, %(name)s, %(version)s, i.place - 1, i.body
FROM unnest(%(bodies)s::jsonb[]) WITH ORDINALITY AS i (body, place)

-- name: items
-- In the order of the parameters. An item that is named twice comes twice.
SELECT i.version, i.place, i.body
FROM unnest(%(versions)s::int[], %(places)s::int[]) WITH ORDINALITY AS wanted (version, place, turn)
JOIN collection_items i ON i.run_id = %(run_id)s AND i.name = %(name)s
    AND i.version = wanted.version AND i.place = wanted.place
ORDER BY wanted.turn

-- name: plan_step
INSERT INTO steps (run_id, tenant_id, n, epoch, plan, group_ids, dropped_ids, traceparent)
VALUES (%(run_id)s, %(tenant_id)s, %(n)s, %(epoch)s, %(plan)s, %(group_ids)s, %(dropped_ids)s, %(traceparent)s)

-- name: slot_states
-- The state after the last step, from `first` to `n`, that trained on the run's own tasks.
SELECT plan -> 'state' AS states FROM steps
WHERE run_id = %(run_id)s AND n BETWEEN %(first)s AND %(n)s AND coalesce(plan ->> 'kind', 'generate') = 'generate'
ORDER BY n DESC LIMIT 1

-- name: step_times
SELECT coalesce((SELECT min(g.created_at) FROM groups g WHERE g.id = ANY (s.group_ids)), s.planned_at) AS requested_at,
    s.committed_at, cardinality(s.group_ids) AS groups
FROM steps s WHERE s.run_id = %(run_id)s AND s.n = %(n)s AND s.state = 'committed'

-- name: evaluation_times
SELECT min(created_at) AS requested_at, max(ended_at) AS recorded_at, count(*) AS groups
FROM groups WHERE run_id = %(run_id)s AND purpose = 'eval' AND step = %(n)s AND state = 'used'
HAVING count(*) > 0

-- name: begin_stage
UPDATE runs SET stage = %(stage)s WHERE id = %(run_id)s AND lease_epoch = %(epoch)s

-- name: drop_ahead
-- The training groups of a stage that is over.
UPDATE groups SET state = 'dropped', reason = 'surplus', ended_at = now()
WHERE run_id = %(run_id)s AND purpose = 'train' AND state IN ('requested', 'ready')

-- name: drop_groups
UPDATE groups SET state = 'dropped', reason = %(reason)s, ended_at = now()
WHERE id = ANY(%(group_ids)s) AND state IN ('requested', 'ready')

-- name: expire_groups
-- Requested groups past their deadline, and ready groups that a version older than `oldest` sampled. Each is returned
-- with the reason why it waited last, if that is known.
WITH gone AS (
    SELECT g.id, coalesce(g.reason, CASE WHEN g.attempt = 0 THEN 'no rollout worker took it' END) AS waited_for
    FROM groups g WHERE run_id = %(run_id)s AND purpose = %(purpose)s AND (
        state = 'requested' AND deadline <= now()
        OR state = 'ready' AND oldest < %(oldest)s AND NOT EXISTS (
            SELECT FROM steps s WHERE s.run_id = g.run_id AND s.state = 'planned' AND g.id = ANY (s.group_ids)))
    ORDER BY g.id FOR NO KEY UPDATE OF g)
UPDATE groups g SET state = 'dropped', reason = 'expired', ended_at = now()
FROM gone WHERE g.id = gone.id
RETURNING g.id, g.request_no, g.ready_at, gone.waited_for

-- name: drop_refused
-- Only if another group of the purpose was ready: then the fault is the group's own.
UPDATE groups g SET state = 'dropped', reason = 'failed', ended_at = now()
WHERE run_id = %(run_id)s AND state = 'requested' AND refused IS NOT NULL AND kind = 'generate' AND EXISTS (
    SELECT FROM groups o
    WHERE o.run_id = g.run_id AND o.purpose = g.purpose AND (g.purpose = 'train' OR o.step = g.step)
        AND o.ready_at IS NOT NULL)
RETURNING g.id, g.purpose, g.request_no, g.step, g.refused

-- name: refused
SELECT count(*) AS groups FROM groups
WHERE run_id = %(run_id)s AND purpose = %(purpose)s AND step = %(step)s AND state = 'dropped' AND refused IS NOT NULL

-- name: expired
SELECT count(*) AS groups FROM groups WHERE run_id = %(run_id)s AND state = 'dropped' AND reason = 'expired'

-- name: engine_time
-- Seconds that all engines together have computed for a model since they started.
SELECT count(*) AS engines, coalesce(sum(m.computed_s), 0) AS computed_s,
    extract(epoch FROM now())::double precision AS at
FROM engine_models m JOIN engines e ON e.id = m.engine_id
WHERE m.model_id = %(model_id)s AND e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s)

-- name: probe_gap
-- The largest gap of any engine, for the version that it serves now.
SELECT max(m.gap_mean) AS mean, max(m.gap_max) AS largest FROM engine_models m JOIN engines e ON e.id = m.engine_id
WHERE m.model_id = %(model_id)s AND e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s)

-- name: use_groups
UPDATE groups SET state = 'used', ended_at = now() WHERE id = ANY(%(group_ids)s) AND state = 'ready'

-- name: drop_open_groups
UPDATE groups SET state = 'dropped', reason = %(reason)s, ended_at = now()
WHERE run_id = %(run_id)s AND state IN ('requested', 'ready')

-- name: forget_journal
DELETE FROM journal WHERE group_id IN (SELECT id FROM groups WHERE run_id = %(run_id)s AND state = 'dropped')

-- name: lock_lane
SELECT id FROM models WHERE id = %(model_id)s FOR NO KEY UPDATE

-- name: run_of_model
-- A run that trains this model: the state of its step, and whether a version has this number.
SELECT s.state AS step, EXISTS (
    SELECT FROM versions v WHERE v.model_id = r.policy_model_id AND v.number = %(number)s AND v.state = 'live') AS taken
FROM runs r LEFT JOIN steps s ON s.run_id = r.id AND s.n = %(step)s
WHERE r.id = %(run_id)s AND r.tenant_id = %(tenant_id)s AND r.policy_model_id = %(model_id)s

-- name: version_of_model
SELECT id FROM versions WHERE id = %(version_id)s AND tenant_id = %(tenant_id)s AND model_id = %(model_id)s

-- name: append_operations
WITH lane AS (
    UPDATE models SET next_seq = next_seq + %(count)s WHERE id = %(model_id)s RETURNING next_seq - %(count)s AS seq)
INSERT INTO operations (id, tenant_id, model_id, seq, dedupe_key, kind, payload, payload_sha, deadline)
SELECT o.id, %(tenant_id)s, %(model_id)s, lane.seq + o.place - 1, o.dedupe_key, o.kind, o.payload, o.payload_sha,
    now() + make_interval(secs => %(deadline_s)s)
FROM lane, unnest(%(ids)s::text[], %(dedupe_keys)s::text[], %(kinds)s::text[], %(payloads)s::jsonb[],
    %(payload_shas)s::text[]) WITH ORDINALITY AS o (id, dedupe_key, kind, payload, payload_sha, place)
RETURNING id, model_id, seq, dedupe_key, kind, state, payload_sha, result, reason

-- name: operations_by_key
SELECT id, model_id, seq, dedupe_key, kind, state, payload_sha, result, reason FROM operations
WHERE tenant_id = %(tenant_id)s AND model_id = %(model_id)s AND dedupe_key = ANY(%(dedupe_keys)s)

-- name: operation
SELECT id, model_id, seq, kind, state, payload_sha, result, reason FROM operations
WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: cancel_operations
UPDATE operations SET state = 'failed', error_category = 'user', reason = %(reason)s, finished_at = now()
WHERE state = 'queued' AND kind <> 'export' AND model_id IN (
    SELECT r.policy_model_id FROM runs r WHERE r.id = %(run_id)s
    UNION ALL SELECT role.value FROM runs r, jsonb_each_text(r.roles) role WHERE r.id = %(run_id)s)

-- name: cancel_steps
UPDATE steps SET state = 'cancelled' WHERE run_id = %(run_id)s AND state = 'planned'

-- name: live_versions
SELECT id, seq, number, state FROM versions
WHERE tenant_id = %(tenant_id)s AND model_id = %(model_id)s ORDER BY number DESC

-- name: record_metrics
INSERT INTO metrics (run_id, tenant_id, step, name, value)
SELECT %(run_id)s, %(tenant_id)s, %(step)s, m.name, m.value
FROM unnest(%(names)s::text[], %(values)s::double precision[]) AS m (name, value)
ON CONFLICT (run_id, name, step) DO NOTHING

-- name: record_event
INSERT INTO events (tenant_id, run_id, kind, step, message, data)
VALUES (%(tenant_id)s, %(run_id)s, %(kind)s, %(step)s, %(message)s, %(data)s)

-- name: record_bad_rows
INSERT INTO events (tenant_id, run_id, kind, message)
SELECT %(tenant_id)s, %(run_id)s, 'bad_rows', %(message)s
WHERE NOT EXISTS (SELECT FROM events WHERE run_id = %(run_id)s AND kind = 'bad_rows' AND message = %(message)s)

-- name: say_waiting
UPDATE runs SET waiting_for = %(waiting_for)s
WHERE id = %(run_id)s AND lease_epoch = %(epoch)s AND waiting_for IS DISTINCT FROM %(waiting_for)s

-- name: set_state
UPDATE runs SET state = %(state)s, reason = %(reason)s, waiting_for = NULL,
    rests = CASE WHEN %(state)s <> 'paused' THEN rests * tstzmultirange(tstzrange(NULL, now()))
        WHEN state <> 'paused' THEN rests + tstzmultirange(tstzrange(now(), NULL)) ELSE rests END,
    ended_at = CASE WHEN %(state)s IN ('succeeded', 'failed', 'cancelled') THEN now() END
WHERE id = %(run_id)s AND lease_epoch = %(epoch)s

-- name: dataset_artifact
SELECT id, manifest FROM artifacts WHERE tenant_id = %(tenant_id)s AND kind = 'dataset' AND (id = %(name)s OR name = %(name)s)

-- name: base_manifest
SELECT coalesce(a.manifest, v.manifest) AS manifest FROM models m
LEFT JOIN artifacts a ON a.id = m.base_artifact_id LEFT JOIN versions v ON v.id = m.base_version_id
WHERE m.id = %(model_id)s

-- name: evaluated
SELECT DISTINCT step FROM metrics WHERE run_id = %(run_id)s AND name = 'eval/masked'

-- name: notify
SELECT pg_notify(%(channel)s, %(payload)s)

-- name: model_of
SELECT id FROM models WHERE id = %(model_id)s AND tenant_id = %(tenant_id)s
