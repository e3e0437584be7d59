-- name: lease
UPDATE runs SET lease_owner = %(owner)s, lease_epoch = lease_epoch + 1,
    lease_expires = now() + make_interval(secs => %(lease_s)s),
    state = CASE state WHEN 'queued' THEN 'running' ELSE state END,
    started_at = coalesce(started_at, now())
WHERE id = (
    SELECT id FROM runs
    WHERE state IN ('queued', 'running', 'paused') AND (lease_expires IS NULL OR lease_expires <= now())
    ORDER BY created_at, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id, tenant_id, spec, policy_model_id, roles, lease_epoch, traceparent

-- name: renew_lease
UPDATE runs SET lease_expires = now() + make_interval(secs => %(lease_s)s)
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('running', 'paused')

-- name: fence
SELECT id FROM runs
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('running', 'paused') FOR NO KEY UPDATE

-- name: release_lease
UPDATE runs SET lease_expires = now()
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('queued', 'running', 'paused')

-- name: release_leases
UPDATE runs SET lease_expires = now() WHERE lease_owner = %(owner)s AND state IN ('queued', 'running', 'paused')
