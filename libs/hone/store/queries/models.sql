-- Models and their leases.

-- name: add
INSERT INTO models (id, tenant_id, kind, base_artifact_id, base_version_id, config)
VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(base_artifact_id)s, %(base_version_id)s, %(config)s)

-- name: of_tenant
SELECT id FROM models WHERE id = %(model_id)s AND tenant_id = %(tenant_id)s AND deleted_at IS NULL

-- name: owned
SELECT id FROM models WHERE id = ANY (%(ids)s) AND tenant_id = %(tenant_id)s

-- name: base_manifest
SELECT coalesce(a.manifest, v.manifest) AS manifest FROM models m
LEFT JOIN artifacts a ON a.id = m.base_artifact_id LEFT JOIN versions v ON v.id = m.base_version_id
WHERE m.id = %(model_id)s

-- name: lease
-- The tenant with the fewest models in trainers comes first.
WITH held AS (SELECT tenant_id, count(*) AS models FROM models WHERE lease_expires > now() GROUP BY tenant_id)
UPDATE models SET lease_owner = %(owner)s, lease_epoch = lease_epoch + 1,
    lease_expires = now() + make_interval(secs => %(lease_s)s),
    takedowns = takedowns + (coalesce(turn_begun > pg_postmaster_start_time(), false))::integer, turn_begun = NULL
WHERE id = (
    SELECT m.id FROM models m LEFT JOIN held USING (tenant_id)
    WHERE m.deleted_at IS NULL AND (m.lease_expires IS NULL OR m.lease_expires <= now())
        AND EXISTS (SELECT FROM operations o WHERE o.model_id = m.id AND o.state = 'queued')
    ORDER BY coalesce(held.models, 0),
        (SELECT min(o.created_at) FROM operations o WHERE o.model_id = m.id AND o.state = 'queued')
    LIMIT 1 FOR NO KEY UPDATE OF m SKIP LOCKED)
RETURNING id, tenant_id, config, snapshot_seq, snapshot, lease_epoch, takedowns

-- name: begin_turn
UPDATE models SET turn_begun = now() WHERE id = %(model_id)s AND lease_epoch = %(epoch)s

-- name: end_turn
UPDATE models SET turn_begun = NULL, takedowns = CASE WHEN %(finished)s THEN 0 ELSE takedowns END
WHERE id = %(model_id)s AND lease_epoch = %(epoch)s

-- name: renew_lease
UPDATE models SET lease_expires = now() + make_interval(secs => %(lease_s)s)
WHERE id = %(id)s AND lease_epoch = %(epoch)s

-- name: fence
SELECT id FROM models WHERE id = %(id)s AND lease_epoch = %(epoch)s FOR NO KEY UPDATE

-- name: release_lease
UPDATE models SET lease_expires = now(), turn_begun = NULL WHERE id = %(id)s AND lease_epoch = %(epoch)s

-- name: release_leases
UPDATE models SET lease_expires = now() WHERE lease_owner = %(owner)s

-- name: lock
SELECT id FROM models WHERE id = %(model_id)s FOR NO KEY UPDATE

-- name: take_seq
UPDATE models SET next_seq = next_seq + 1 WHERE id = %(model_id)s RETURNING next_seq - 1 AS seq

-- name: record_snapshot
UPDATE models SET snapshot_seq = %(seq)s, snapshot = %(manifest)s
WHERE id = %(model_id)s AND lease_epoch = %(epoch)s AND snapshot_seq < %(seq)s
