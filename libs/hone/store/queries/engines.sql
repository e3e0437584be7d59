-- Engines and the models they hold (engine_models). An engine alone writes its own rows.

-- name: enter
INSERT INTO engines (id, address, kind, build) VALUES (%(id)s, %(address)s, %(kind)s, %(build)s)
ON CONFLICT (id) DO UPDATE SET address = excluded.address, kind = excluded.kind, build = excluded.build,
    heartbeat_at = now(), started_at = now()

-- name: beat
UPDATE engines SET heartbeat_at = now(), load = %(load)s WHERE id = %(id)s

-- name: leave
DELETE FROM engines WHERE id = %(id)s

-- name: all
SELECT id, kind, started_at, load, extract(epoch FROM now() - heartbeat_at)::double precision AS age_s
FROM engines ORDER BY id

-- name: addresses
-- Addresses for health checks. No tenant sees them.
SELECT id, address FROM engines WHERE heartbeat_at > now() - make_interval(secs => %(fresh_s)s) ORDER BY id

-- name: holding
SELECT e.address FROM engines e JOIN engine_models m ON m.engine_id = e.id
WHERE m.model_id = %(model_id)s AND m.version_id IS NOT NULL

-- name: fresh
-- `refusing`: models whose newest version the engine refuses. `busy`: number of its models that a running run uses; it
-- gives up its other models when it needs the room.
SELECT e.id, e.address, e.kind, e.build,
    coalesce(array_agg(m.model_id) FILTER (WHERE m.version_id IS NOT NULL), '{}') AS models,
    coalesce(array_agg(m.model_id) FILTER (WHERE m.refused_version_id = (
        SELECT v.id FROM versions v WHERE v.model_id = m.model_id AND v.state = 'live'
        ORDER BY v.number DESC, v.seq DESC LIMIT 1)), '{}') AS refusing,
    count(*) FILTER (WHERE m.version_id IS NOT NULL AND EXISTS (
        SELECT FROM runs r WHERE r.state = 'running'
            AND (r.policy_model_id = m.model_id OR m.model_id IN (SELECT value FROM jsonb_each_text(r.roles))))) AS busy
FROM engines e LEFT JOIN engine_models m ON m.engine_id = e.id
WHERE e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s)
GROUP BY e.id ORDER BY e.id

-- name: others
-- Other engines that have reported lately and do not refuse the version.
SELECT e.id FROM engines e
WHERE e.id <> %(id)s AND e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s) AND NOT EXISTS (
    SELECT FROM engine_models m WHERE m.engine_id = e.id AND m.refused_version_id = %(version_id)s)
ORDER BY e.id

-- name: models
SELECT e.engine_id, e.model_id, r.id AS run_id, r.name AS run_name, e.version_id, v.number, e.refused_reason,
       e.generated_tokens, e.generated_samples, e.computed_s, e.loaded_at
FROM engine_models e JOIN models m ON m.id = e.model_id
LEFT JOIN (
    SELECT id, name, policy_model_id AS model_id FROM runs
    UNION ALL SELECT id, name, role.value FROM runs, jsonb_each_text(roles) role) r ON r.model_id = m.id
LEFT JOIN versions v ON v.id = e.version_id
ORDER BY e.engine_id, e.loaded_at DESC NULLS LAST

-- name: set_loaded
INSERT INTO engine_models AS held (engine_id, model_id, version_id, loads, loaded_at, gap_mean, gap_max)
VALUES (%(id)s, %(model_id)s, %(version_id)s, 1, now(), %(gap_mean)s, %(gap_max)s)
ON CONFLICT (engine_id, model_id) DO UPDATE SET version_id = excluded.version_id, loads = held.loads + 1,
    loaded_at = now(), refused_version_id = NULL, refused_reason = NULL, gap_mean = excluded.gap_mean,
    gap_max = excluded.gap_max

-- name: set_refused
INSERT INTO engine_models (engine_id, model_id, refused_version_id, refused_reason)
VALUES (%(id)s, %(model_id)s, %(version_id)s, %(reason)s)
ON CONFLICT (engine_id, model_id) DO UPDATE SET refused_version_id = excluded.refused_version_id,
    refused_reason = excluded.refused_reason

-- name: set_evicted
UPDATE engine_models SET version_id = NULL, loaded_at = NULL, gap_mean = NULL, gap_max = NULL
WHERE engine_id = %(id)s AND model_id = %(model_id)s

-- name: clear_loaded
UPDATE engine_models SET version_id = NULL, refused_version_id = NULL, refused_reason = NULL, loaded_at = NULL,
    gap_mean = NULL, gap_max = NULL
WHERE engine_id = %(id)s

-- name: add_counts
UPDATE engine_models SET generated_tokens = generated_tokens + %(tokens)s,
    generated_samples = generated_samples + %(samples)s, computed_s = computed_s + %(computed_s)s
WHERE engine_id = %(id)s AND model_id = %(model_id)s

-- name: computed_time
-- Seconds that all engines together have computed for a model since they started.
SELECT count(*) AS engines, coalesce(sum(m.computed_s), 0) AS computed_s,
    extract(epoch FROM now())::double precision AS at
FROM engine_models m JOIN engines e ON e.id = m.engine_id
WHERE m.model_id = %(model_id)s AND e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s)

-- name: probe_gap
-- The largest gap of any engine, for the version that it serves now.
SELECT max(m.gap_mean) AS mean, max(m.gap_max) AS largest FROM engine_models m JOIN engines e ON e.id = m.engine_id
WHERE m.model_id = %(model_id)s AND e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s)
