-- name: lease
UPDATE models SET lease_owner = %(owner)s, lease_epoch = lease_epoch + 1,
    lease_expires = now() + make_interval(secs => %(lease_s)s)
WHERE id = (
    SELECT m.id FROM models m
    WHERE (m.lease_expires IS NULL OR m.lease_expires <= now())
        AND EXISTS (SELECT FROM operations o WHERE o.model_id = m.id AND o.state = 'queued')
    ORDER BY (SELECT min(o.created_at) FROM operations o WHERE o.model_id = m.id AND o.state = 'queued')
    LIMIT 1 FOR NO KEY UPDATE OF m SKIP LOCKED)
RETURNING id, tenant_id, config, snapshot_seq, snapshot, lease_epoch

-- name: renew_lease
UPDATE models SET lease_expires = now() + make_interval(secs => %(lease_s)s)
WHERE id = %(id)s AND lease_epoch = %(epoch)s

-- name: fence
SELECT id FROM models WHERE id = %(id)s AND lease_epoch = %(epoch)s FOR NO KEY UPDATE

-- name: release_lease
UPDATE models SET lease_expires = now() WHERE id = %(id)s AND lease_epoch = %(epoch)s

-- name: release_leases
UPDATE models SET lease_expires = now() WHERE lease_owner = %(owner)s
