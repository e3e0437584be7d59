-- Versions of models.

-- name: add
INSERT INTO versions (id, tenant_id, model_id, seq, number, parent_id, manifest)
VALUES (%(id)s, %(tenant_id)s, %(model_id)s, %(seq)s, %(number)s, %(parent_id)s, %(manifest)s)

-- name: by_id
SELECT id, number, manifest, weights_deleted_at FROM versions WHERE model_id = %(model_id)s AND id = %(version_id)s

-- name: of_model
SELECT id FROM versions WHERE id = %(version_id)s AND tenant_id = %(tenant_id)s AND model_id = %(model_id)s

-- name: at_seq
SELECT id, number, manifest, weights_deleted_at FROM versions
WHERE model_id = %(model_id)s AND seq = %(seq)s AND state = 'live'

-- name: numbered
SELECT id FROM versions WHERE model_id = %(model_id)s AND number = %(number)s AND state = 'live'

-- name: newest
SELECT id FROM versions WHERE model_id = %(model_id)s AND state = 'live' ORDER BY number DESC LIMIT 1

-- name: newest_stored
SELECT v.id, v.model_id, v.number, weight_bytes(v) AS bytes, jsonb_exists(v.manifest -> 'files', 'adapter_model.safetensors') AS adapter,
    v.manifest #>> '{files,tokenizer.json,sha256}' AS tokenizer
FROM versions v
WHERE v.model_id = %(model_id)s AND v.state = 'live' AND v.weights_deleted_at IS NULL
ORDER BY v.number DESC LIMIT 1

-- name: live
SELECT v.id, v.model_id, v.number, v.weights_deleted_at IS NULL AS stored, weight_bytes(v) AS bytes,
    jsonb_exists(v.manifest -> 'files', 'adapter_model.safetensors') AS adapter,
    v.manifest #>> '{files,tokenizer.json,sha256}' AS tokenizer FROM versions v
WHERE v.id = %(version_id)s AND v.state = 'live'
    AND NOT EXISTS (SELECT FROM runs r WHERE r.policy_model_id = v.model_id AND r.deleted_at IS NOT NULL)
    AND EXISTS (SELECT FROM models m WHERE m.id = v.model_id AND m.deleted_at IS NULL)

-- name: all_of_model
SELECT id, seq, number, state FROM versions
WHERE tenant_id = %(tenant_id)s AND model_id = %(model_id)s ORDER BY number DESC

-- name: page
SELECT id, number, state, weights_deleted_at IS NULL AS stored, parent_id,
       manifest ->> 'weights_sha256' AS weights_sha256, created_at,
       CASE WHEN weights_deleted_at IS NULL THEN weight_bytes(versions) END AS bytes
FROM versions
WHERE model_id = %(model_id)s AND (%(after)s::text IS NULL
    OR (number, id) < (SELECT last.number, last.id FROM versions last WHERE last.id = %(after)s))
ORDER BY number DESC, id DESC LIMIT %(limit)s

-- name: manifest
SELECT manifest FROM versions WHERE id = %(version_id)s

-- name: origin
-- The registered model from which a version comes, over any number of runs.
WITH RECURSIVE line AS (
    SELECT m.base_artifact_id, m.base_version_id FROM versions v JOIN models m ON m.id = v.model_id
    WHERE v.id = %(version_id)s
    UNION ALL
    SELECT m.base_artifact_id, m.base_version_id
    FROM line JOIN versions v ON v.id = line.base_version_id JOIN models m ON m.id = v.model_id)
SELECT a.id, a.name, a.manifest FROM line JOIN artifacts a ON a.id = line.base_artifact_id

-- name: manifests
SELECT w.model_id, w.version_id AS wanted_id, v.id, v.manifest
FROM unnest(%(model_ids)s::text[], %(version_ids)s::text[]) AS w (model_id, version_id)
JOIN LATERAL (
    SELECT id, manifest FROM versions v
    WHERE v.model_id = w.model_id AND (v.id = w.version_id OR (w.version_id IS NULL AND v.state = 'live'))
    ORDER BY v.number DESC LIMIT 1) v ON true

-- name: tokenizer_manifests
-- For each role that answers calls: the policy, and the roles of its environment that have another model. The manifest
-- is NULL if the role's model has no stored version.
SELECT DISTINCT ON (named.role) named.role, v.manifest
FROM runs r, LATERAL (
    SELECT 'policy' AS role, r.policy_model_id AS model_id
    UNION ALL SELECT key, value FROM jsonb_each_text(r.roles - 'teacher')) AS named
LEFT JOIN versions v ON v.model_id = named.model_id AND v.state = 'live' AND v.weights_deleted_at IS NULL
WHERE r.id = %(run_id)s
ORDER BY named.role, v.number DESC

-- name: for_engine
-- The newest live version of a model, and the versions with these ids in any state.
SELECT id, number, state, manifest, weights_deleted_at IS NOT NULL AS deleted,
    state = 'live' AND number = max(number) FILTER (WHERE state = 'live') OVER () AS newest
FROM versions
WHERE model_id = %(model_id)s AND (id = ANY(%(version_ids)s) OR id = (
    SELECT id FROM versions WHERE model_id = %(model_id)s AND state = 'live' ORDER BY number DESC, seq DESC LIMIT 1))
ORDER BY number, seq

-- name: abandon
UPDATE versions SET state = 'abandoned' WHERE id = %(version_id)s

-- name: retire
UPDATE versions v SET weights_deleted_at = now()
WHERE v.model_id = %(model_id)s AND v.weights_deleted_at IS NULL AND v.number > 0
    AND v.number <= %(newest)s - %(keep)s
    AND (%(checkpoint_every)s = 0 OR v.number %% %(checkpoint_every)s <> 0)
    AND NOT EXISTS (SELECT FROM models m WHERE m.base_version_id = v.id)
    AND NOT EXISTS (SELECT FROM groups g WHERE g.version_id = v.id AND g.state = 'requested')
    AND NOT EXISTS (SELECT FROM operations o WHERE o.model_id = v.model_id AND o.kind = 'export'
                    AND o.state = 'queued' AND o.payload ->> 'version_id' = v.id)
RETURNING manifest
