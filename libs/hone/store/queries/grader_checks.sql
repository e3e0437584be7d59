-- Checks of graders against labelled sets: asked for by requests and by runs, made by jobs of reward services.

-- name: add
INSERT INTO grader_checks (id, tenant_id, key_id, grader, grader_hash, set_name)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(grader)s, %(grader_hash)s, %(set_name)s)

-- name: lock
-- Holds the tenant's other requests for checks, so that none goes beyond the limit.
SELECT pg_advisory_xact_lock(hashtextextended('grader_checks ' || %(tenant_id)s, 0))

-- name: open
-- Checks of a tenant that requests asked for and that have not ended.
SELECT count(*) AS open FROM grader_checks
WHERE tenant_id = %(tenant_id)s AND run_id IS NULL AND state IN ('waiting', 'taken')

-- name: one
SELECT id, run_id, step, grader, grader_hash, set_name, set_hash, judges, length(verdicts) AS pairs,
    length(replace(verdicts, '?', '')) AS judged, counts, copied_from, state, reason, seconds, tokens, created_at, ended_at
FROM grader_checks WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: page
SELECT id, run_id, step, grader, grader_hash, set_name, set_hash, judges, length(verdicts) AS pairs,
    length(replace(verdicts, '?', '')) AS judged, counts, copied_from, state, reason, seconds, tokens, created_at, ended_at
FROM grader_checks WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR id < %(after)s)
    AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
    AND (%(grader_hash)s::text IS NULL OR grader_hash = %(grader_hash)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: begin
-- Nothing where nobody needs the check any more. No worker of the release before takes it from now on: its writes name
-- the owner.
UPDATE grader_checks SET state = 'taken', owner = NULL, due_at = '9999-01-01'
WHERE id = %(id)s AND state IN ('waiting', 'taken')
RETURNING id, tenant_id, key_id, run_id, step, grader, label, set_name, set_hash, judges, verdicts, seconds, tokens,
    run_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM grader_checks e WHERE e.run_id = grader_checks.run_id AND e.grader_hash = grader_checks.grader_hash
            AND e.number < grader_checks.number) AS first

-- name: earlier
-- The newest check of the same grader and set that the same judges answered.
SELECT id, verdicts, counts FROM grader_checks
WHERE tenant_id = %(tenant_id)s AND grader_hash = %(grader_hash)s AND set_hash = %(set_hash)s AND judges = %(judges)s
    AND state = 'done' AND copied_from IS NULL
ORDER BY created_at DESC LIMIT 1

-- name: keep
-- Verdicts so far. Returns nothing where another service has taken the check, or nobody needs it any more.
UPDATE grader_checks SET set_hash = %(set_hash)s, judges = %(judges)s, verdicts = %(verdicts)s, seconds = %(seconds)s,
    tokens = %(tokens)s
WHERE id = %(id)s AND state = 'taken' AND EXISTS (SELECT FROM jobs j WHERE j.id = %(job_id)s AND j.epoch = %(epoch)s)
RETURNING id

-- name: again
UPDATE grader_checks SET state = 'waiting', reason = %(reason)s WHERE id = %(id)s AND state = 'taken'
RETURNING run_id, step

-- name: finish
UPDATE grader_checks SET state = %(state)s, reason = %(reason)s, counts = %(counts)s, copied_from = %(copied_from)s,
    ended_at = now()
WHERE id = %(id)s AND state = 'taken'
RETURNING run_id, step, label, set_name

-- name: add_of_run
-- Nothing where the run has asked for its check of this number.
INSERT INTO grader_checks (id, tenant_id, run_id, number, step, grader, grader_hash, label, set_name, asked)
VALUES (%(id)s, %(tenant_id)s, %(run_id)s, %(number)s, %(step)s, %(grader)s, %(grader_hash)s, %(label)s, %(set_name)s, %(asked)s)
ON CONFLICT (run_id, number) DO NOTHING

-- name: of_run
-- The first check of each grader of a run and the newest, in this order.
SELECT number, step, grader_hash, asked, judges, length(verdicts) AS pairs, length(replace(verdicts, '?', '')) AS judged,
    counts, state, reason
FROM grader_checks c WHERE (grader_hash, number) IN (
    SELECT grader_hash, unnest(ARRAY[min(number), max(number)]) FROM grader_checks
    WHERE run_id = %(run_id)s GROUP BY grader_hash) AND run_id = %(run_id)s
ORDER BY number

-- name: answering
-- What answered the questions of a run last, by judge.
SELECT judge, pinned FROM judge_spending WHERE run_id = %(run_id)s AND pinned <> ''

-- name: drop_of_run
-- A run that has ended needs no check any more.
UPDATE grader_checks SET state = 'failed', reason = 'the run ended', ended_at = now()
WHERE run_id = %(run_id)s AND state IN ('waiting', 'taken')
