-- Packages that are to be made from hints.

-- name: add
INSERT INTO package_jobs (id, tenant_id, name, hint, seed, tasks)
VALUES (%(id)s, %(tenant_id)s, %(name)s, %(hint)s, %(seed)s, %(tasks)s)

-- name: open
SELECT count(*) AS open FROM package_jobs WHERE tenant_id = %(tenant_id)s AND state IN ('waiting', 'taken')

-- name: one
SELECT id, name, hint, seed, tasks, state, reason, digest, report, created_at, ended_at FROM package_jobs
WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: page
SELECT id, name, hint, seed, tasks, state, reason, digest, report, created_at, ended_at FROM package_jobs
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s

-- name: claim
UPDATE package_jobs SET state = 'taken', owner = %(owner)s, attempts = attempts + 1,
    due_at = now() + make_interval(secs => %(lease_s)s)
WHERE id = ANY (ARRAY(
    SELECT id FROM package_jobs WHERE state IN ('waiting', 'taken') AND due_at <= now()
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED))
RETURNING id, tenant_id, name, hint, seed, tasks, attempts

-- name: again
UPDATE package_jobs SET state = 'waiting', reason = %(reason)s, due_at = now() + make_interval(secs => %(after_s)s)
WHERE id = %(id)s AND attempts = %(attempts)s AND state = 'taken'

-- name: done
UPDATE package_jobs SET state = 'done', reason = NULL, digest = %(digest)s, report = %(report)s, ended_at = now()
WHERE id = %(id)s AND attempts = %(attempts)s AND state = 'taken'

-- name: end
UPDATE package_jobs SET state = %(state)s, reason = %(reason)s, ended_at = now()
WHERE id = %(id)s AND attempts = %(attempts)s AND state = 'taken'

-- name: release
UPDATE package_jobs SET due_at = now() WHERE owner = %(owner)s AND state = 'taken'
