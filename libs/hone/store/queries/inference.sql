-- What an engine reads: versions of the models it holds. What it writes: its own rows and nothing else.

-- name: enter
INSERT INTO engines (id, address, kind, build) VALUES (%(id)s, %(address)s, %(kind)s, %(build)s)
ON CONFLICT (id) DO UPDATE SET address = excluded.address, kind = excluded.kind, build = excluded.build,
    heartbeat_at = now(), started_at = now()

-- name: forget_loaded
UPDATE engine_models SET version_id = NULL, refused_version_id = NULL, refused_reason = NULL, loaded_at = NULL,
    gap_mean = NULL, gap_max = NULL
WHERE engine_id = %(id)s

-- name: beat
UPDATE engines SET heartbeat_at = now(), load = %(load)s WHERE id = %(id)s

-- name: leave
DELETE FROM engines WHERE id = %(id)s

-- name: loaded
INSERT INTO engine_models AS held (engine_id, model_id, version_id, loads, loaded_at, gap_mean, gap_max)
VALUES (%(id)s, %(model_id)s, %(version_id)s, 1, now(), %(gap_mean)s, %(gap_max)s)
ON CONFLICT (engine_id, model_id) DO UPDATE SET version_id = excluded.version_id, loads = held.loads + 1,
    loaded_at = now(), refused_version_id = NULL, refused_reason = NULL, gap_mean = excluded.gap_mean,
    gap_max = excluded.gap_max

-- name: refused
INSERT INTO engine_models (engine_id, model_id, refused_version_id, refused_reason)
VALUES (%(id)s, %(model_id)s, %(version_id)s, %(reason)s)
ON CONFLICT (engine_id, model_id) DO UPDATE SET refused_version_id = excluded.refused_version_id,
    refused_reason = excluded.refused_reason

-- name: evicted
UPDATE engine_models SET version_id = NULL, loaded_at = NULL, gap_mean = NULL, gap_max = NULL
WHERE engine_id = %(id)s AND model_id = %(model_id)s

-- name: counted
UPDATE engine_models SET generated_tokens = generated_tokens + %(tokens)s,
    generated_samples = generated_samples + %(samples)s, computed_s = computed_s + %(computed_s)s
WHERE engine_id = %(id)s AND model_id = %(model_id)s

-- name: others
-- Engines that have reported lately and do not refuse a version.
SELECT e.id FROM engines e
WHERE e.id <> %(id)s AND e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s) AND NOT EXISTS (
    SELECT FROM engine_models m WHERE m.engine_id = e.id AND m.refused_version_id = %(version_id)s)
ORDER BY e.id

-- name: versions
-- The newest live version of a model, and those asked for by id whatever their state.
SELECT id, number, state, manifest, weights_deleted_at IS NOT NULL AS deleted,
    state = 'live' AND number = max(number) FILTER (WHERE state = 'live') OVER () AS newest
FROM versions
WHERE model_id = %(model_id)s AND (id = ANY(%(version_ids)s) OR id = (
    SELECT id FROM versions WHERE model_id = %(model_id)s AND state = 'live' ORDER BY number DESC, seq DESC LIMIT 1))
ORDER BY number, seq
