-- Jobs of all kinds: taken by workers with a lease, retried and ended. Triggers of the subjects' tables add them.

-- name: take
-- Up to `count` jobs that are due. Late ones come last, and an owner's turn comes behind its jobs that are in work.
WITH busy AS (
    SELECT owner, count(*) AS jobs FROM jobs WHERE kind = %(kind)s AND worker IS NOT NULL AND due_at > now() GROUP BY 1),
due AS (
    SELECT j.id, row_number() OVER (PARTITION BY j.owner ORDER BY j.due_at, j.id) + coalesce(b.jobs, 0) AS turn
    FROM jobs j LEFT JOIN busy b ON b.owner = j.owner WHERE j.kind = %(kind)s AND j.due_at <= now()),
chosen AS (
    SELECT j.id FROM jobs j JOIN due USING (id) WHERE j.due_at <= now()
    ORDER BY j.late, due.turn, j.id LIMIT %(count)s FOR UPDATE OF j SKIP LOCKED)
UPDATE jobs j SET worker = %(worker)s, epoch = j.epoch + 1, attempts = j.attempts + 1,
    takedowns = CASE WHEN j.worker IS NULL THEN 0 ELSE j.takedowns + 1 END,
    due_at = now() + make_interval(secs => %(lease_s)s)
FROM chosen WHERE j.id = chosen.id
RETURNING j.id, j.tenant_id, j.kind, j.subject, j.attempts, j.epoch, j.takedowns, j.reason, j.late,
    EXISTS (SELECT FROM tenants t WHERE t.id = j.tenant_id AND t.deleted_at IS NOT NULL) AS orphaned

-- name: renew
UPDATE jobs j SET due_at = now() + make_interval(secs => %(lease_s)s)
FROM unnest(%(ids)s::bigint[], %(epochs)s::bigint[]) AS held (id, epoch) WHERE j.id = held.id AND j.epoch = held.epoch
RETURNING j.id, j.epoch

-- name: again
UPDATE jobs SET worker = NULL, takedowns = 0, attempts = attempts - %(unused)s, reason = %(reason)s, late = late OR %(late)s,
    due_at = now() + make_interval(secs => %(after_s)s)
WHERE id = %(job_id)s AND epoch = %(epoch)s RETURNING id

-- name: end
DELETE FROM jobs WHERE id = %(job_id)s AND epoch = %(epoch)s RETURNING id

-- name: inherit
-- Its worker stays, so that the next one counts a takedown.
UPDATE jobs SET due_at = now() WHERE worker = %(worker)s AND kind = ANY (%(kinds)s)

-- name: give_back
UPDATE jobs SET worker = NULL, takedowns = 0, epoch = epoch + 1, attempts = attempts - 1, due_at = now()
WHERE worker = %(worker)s AND kind = ANY (%(kinds)s)
