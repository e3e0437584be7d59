-- Models that are asked through the gateway, by the names that clients give.

-- name: base
-- A registered model, with the model that answers for it if there is one.
SELECT a.id AS base_artifact_id, NULL AS base_version_id, a.id AS shown, 0 AS number, a.manifest,
    a.manifest AS origin, m.id AS model_id, v.id AS version_id
FROM artifacts a
LEFT JOIN models m ON m.base_artifact_id = a.id AND m.deleted_at IS NULL AND jsonb_exists(m.config, 'asked')
LEFT JOIN versions v ON v.model_id = m.id AND v.state = 'live'
WHERE a.kind = 'base_model' AND a.deleted_at IS NULL AND (a.id = %(name)s OR a.name = %(name)s)
ORDER BY a.id = %(name)s DESC LIMIT 1

-- name: runs
-- The run with this id, or the newest two with this name.
SELECT id, policy_model_id AS model_id, spec -> 'chat' AS chat, state IN ('queued', 'running', 'paused') AS open
FROM runs WHERE preflight IS NULL AND deleted_at IS NULL AND (id = %(name)s OR name = %(name)s)
ORDER BY id = %(name)s DESC, id DESC LIMIT 2

-- name: policies
-- The runs whose newest version is stored, newest first: each with that version, and what is known of the registered
-- model that it comes from.
SELECT r.id, r.name, r.created_at, v.id AS version_id, v.number, v.files, o.manifest AS origin
FROM runs r
JOIN LATERAL (
    SELECT id, number, manifest -> 'files' AS files, weights_deleted_at FROM versions
    WHERE model_id = r.policy_model_id AND state = 'live' ORDER BY number DESC LIMIT 1
) v ON v.weights_deleted_at IS NULL
JOIN LATERAL (
    WITH RECURSIVE line AS (
        SELECT base_artifact_id, base_version_id FROM models WHERE id = r.policy_model_id
        UNION ALL
        SELECT m.base_artifact_id, m.base_version_id
        FROM line JOIN versions b ON b.id = line.base_version_id JOIN models m ON m.id = b.model_id)
    SELECT a.manifest FROM line JOIN artifacts a ON a.id = line.base_artifact_id
) o ON true
WHERE r.preflight IS NULL AND r.deleted_at IS NULL AND (%(after)s::text IS NULL OR r.id < %(after)s)
ORDER BY r.id DESC LIMIT %(limit)s

-- name: version
-- A live version of a run's policy: with this number, or the newest; and the model that answers for it alone, if there
-- is one.
SELECT v.id AS base_version_id, NULL AS base_artifact_id, v.id AS shown, v.number, v.manifest, v.model_id AS policy_id,
    v.created_at, v.weights_deleted_at IS NULL AS stored, m.id AS model_id, own.id AS version_id,
    v.number = (SELECT max(n.number) FROM versions n WHERE n.model_id = v.model_id AND n.state = 'live') AS newest
FROM versions v
LEFT JOIN models m ON m.base_version_id = v.id AND m.deleted_at IS NULL AND jsonb_exists(m.config, 'asked')
LEFT JOIN versions own ON own.model_id = m.id AND own.state = 'live'
WHERE v.model_id = %(model_id)s AND v.state = 'live' AND (%(number)s::integer IS NULL OR v.number = %(number)s)
ORDER BY v.number DESC LIMIT 1

-- name: run_of_version
SELECT v.number, r.id, r.policy_model_id AS model_id, r.spec -> 'chat' AS chat,
    r.state IN ('queued', 'running', 'paused') AS open
FROM versions v JOIN runs r ON r.policy_model_id = v.model_id
WHERE v.id = %(version_id)s AND v.state = 'live' AND r.preflight IS NULL AND r.deleted_at IS NULL

-- name: numbers
SELECT id, number FROM versions WHERE id = ANY (%(ids)s)

-- name: lock
-- Requests that publish a model to be asked pass here one by one.
SELECT pg_advisory_xact_lock(hashtext('asked ' || %(base_id)s))

-- name: of_base
SELECT m.id AS model_id, v.id AS version_id FROM models m JOIN versions v ON v.model_id = m.id AND v.state = 'live'
WHERE coalesce(m.base_artifact_id, m.base_version_id) = %(base_id)s AND m.deleted_at IS NULL
    AND jsonb_exists(m.config, 'asked')
