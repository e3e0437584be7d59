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

-- name: begin
-- Nothing where the job has ended. No worker of the release before takes it from now on: its writes name the attempt.
UPDATE package_jobs SET state = 'taken', owner = NULL, attempts = attempts + 1, due_at = '9999-01-01',
    started_at = coalesce(started_at, now())
WHERE id = %(id)s AND state IN ('waiting', 'taken')
RETURNING id, tenant_id, key_id, environment, name, hint, seed, tasks, sizes, author, trial, validator, guideline, within_s,
    extract(epoch FROM started_at + make_interval(secs => within_s) - now())::float AS left_s

-- name: keep
-- Returns nothing where another service has taken the job, or it was cancelled.
UPDATE package_jobs SET progress = %(progress)s
WHERE id = %(id)s AND state = 'taken' AND EXISTS (SELECT FROM jobs j WHERE j.id = %(job_id)s AND j.epoch = %(epoch)s)
RETURNING id

-- name: again
UPDATE package_jobs SET state = 'waiting', reason = %(reason)s WHERE id = %(id)s AND state = 'taken'

-- name: done
UPDATE package_jobs SET state = 'done', reason = NULL, progress = %(progress)s, digest = %(digest)s, report = %(report)s,
    rows = %(rows)s, ended_at = now()
WHERE id = %(id)s AND state = 'taken'
RETURNING name

-- name: fail
-- Null as progress and report: its processes went away, and nobody knows more.
UPDATE package_jobs SET state = 'failed', reason = %(reason)s, progress = coalesce(%(progress)s, progress),
    report = coalesce(%(report)s, report), ended_at = now()
WHERE id = %(id)s AND state = 'taken'
