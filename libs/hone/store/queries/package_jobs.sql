-- Packages that are to be made from hints.

-- name: add
INSERT INTO package_jobs (id, tenant_id, key_id, environment, name, hint, seed, tasks, sizes, author, trial, validator, guideline, within_s)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(environment)s, %(name)s, %(hint)s, %(seed)s, %(tasks)s, %(sizes)s, %(author)s,
    %(trial)s, %(validator)s, %(guideline)s, %(within_s)s)

-- name: lock
-- Holds the tenant's other requests for packages, so that none goes beyond the limit.
SELECT pg_advisory_xact_lock(hashtextextended('package_jobs ' || %(tenant_id)s, 0))

-- name: open
SELECT count(*) AS open FROM package_jobs WHERE tenant_id = %(tenant_id)s AND state IN ('waiting', 'taken')

-- name: one
SELECT id, environment, name, hint, seed, tasks, sizes, author, trial, validator, guideline, within_s, state, reason, progress, digest, report, created_at, started_at,
    ended_at, coalesce((SELECT jsonb_object_agg(s.judge, jsonb_build_object(
        'answers', s.answers, 'tokens', s.tokens, 'cost', s.cost)) FROM judge_spending s WHERE s.run_id = j.id), '{}') AS used
FROM package_jobs j WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: rows
-- Null: there are none.
SELECT rows FROM package_jobs WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: page
SELECT id, environment, name, hint, seed, tasks, sizes, author, trial, validator, guideline, within_s, state, reason, progress, digest, report, created_at, started_at,
    ended_at, coalesce((SELECT jsonb_object_agg(s.judge, jsonb_build_object(
        'answers', s.answers, 'tokens', s.tokens, 'cost', s.cost)) FROM judge_spending s WHERE s.run_id = j.id), '{}') AS used
FROM package_jobs j
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s

-- name: cancel
UPDATE package_jobs SET state = 'cancelled', reason = 'it was cancelled', ended_at = now()
WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND state IN ('waiting', 'taken')

-- name: claim
-- Those of tenants with fewer jobs in work come first.
UPDATE package_jobs SET state = 'taken', owner = %(owner)s, attempts = attempts + 1,
    started_at = coalesce(started_at, now()), due_at = now() + make_interval(secs => %(lease_s)s)
WHERE id = ANY (ARRAY(
    SELECT id FROM package_jobs j WHERE state IN ('waiting', 'taken') AND due_at <= now()
    ORDER BY (SELECT count(*) FROM package_jobs t
              WHERE t.tenant_id = j.tenant_id AND t.state = 'taken' AND t.due_at > now()), due_at
    LIMIT 1 FOR UPDATE SKIP LOCKED))
RETURNING id, tenant_id, key_id, environment, name, hint, seed, tasks, sizes, author, trial, validator, guideline, within_s, attempts,
    extract(epoch FROM started_at + make_interval(secs => within_s) - now())::float AS left_s

-- name: keep
-- Returns nothing where another service has taken the job, or it was cancelled.
UPDATE package_jobs SET progress = %(progress)s, due_at = now() + make_interval(secs => %(lease_s)s)
WHERE id = %(id)s AND owner = %(owner)s AND attempts = %(attempts)s AND state = 'taken'
RETURNING id

-- name: again
UPDATE package_jobs SET state = 'waiting', reason = %(reason)s, due_at = now() + make_interval(secs => %(after_s)s)
WHERE id = %(id)s AND attempts = %(attempts)s AND state = 'taken'

-- name: done
UPDATE package_jobs SET state = 'done', reason = NULL, progress = %(progress)s, digest = %(digest)s, report = %(report)s,
    rows = %(rows)s, ended_at = now()
WHERE id = %(id)s AND attempts = %(attempts)s AND state = 'taken'
RETURNING id

-- name: fail
UPDATE package_jobs SET state = 'failed', reason = %(reason)s, progress = %(progress)s, report = %(report)s, ended_at = now()
WHERE id = %(id)s AND attempts = %(attempts)s AND state = 'taken'

-- name: release
UPDATE package_jobs SET due_at = now() WHERE owner = %(owner)s AND state = 'taken'
