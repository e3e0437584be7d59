-- Grades that take a while: claimed by reward services, retried, and parked where the system fails.

-- name: add
-- Returns how many are new. An equal job is there already, or was done.
INSERT INTO grading_jobs (tenant_id, run_id, group_id, grader_hash, indexes, regrade_no, body)
SELECT g.tenant_id, g.run_id, t.group_id, %(grader_hash)s, t.indexes, %(regrade_no)s, decode(t.body, 'base64')
FROM json_to_recordset(%(jobs)s::json) AS t (group_id bigint, indexes integer[], body text)
JOIN groups g ON g.id = t.group_id AND g.run_id = %(run_id)s AND g.tenant_id = %(tenant_id)s
ORDER BY t.group_id, t.indexes
ON CONFLICT (group_id, grader_hash, indexes, regrade_no) DO NOTHING
RETURNING id

-- name: claim
-- Up to `count` jobs that are due: new ones before late grades, and of each tenant those of the run that waits longest. A
-- run takes its turn behind the jobs of it that are in work.
WITH busy AS (
    SELECT tenant_id, run_id, count(*) AS jobs FROM grading_jobs WHERE state = 'taken' AND due_at > now() GROUP BY 1, 2),
due AS (
    SELECT j.id, row_number() OVER (PARTITION BY j.tenant_id, j.run_id ORDER BY j.due_at, j.id) + coalesce(b.jobs, 0) AS turn,
        j.state
    FROM grading_jobs j LEFT JOIN busy b ON b.tenant_id = j.tenant_id AND b.run_id = j.run_id
    WHERE j.due_at <= now()),
chosen AS (
    SELECT j.id FROM grading_jobs j JOIN due USING (id) WHERE j.due_at <= now()
    ORDER BY due.state = 'parked', due.turn, j.id LIMIT %(count)s FOR UPDATE OF j SKIP LOCKED)
UPDATE grading_jobs j SET state = 'taken', owner = %(owner)s, attempts = j.attempts + 1,
    due_at = now() + make_interval(secs => %(lease_s)s)
FROM chosen WHERE j.id = chosen.id
RETURNING j.id, j.tenant_id, j.run_id, j.group_id, j.grader_hash, j.indexes, j.regrade_no, j.body, j.attempts

-- name: again
-- A job is due again later. Nothing happens where another service has taken it.
UPDATE grading_jobs SET state = %(state)s, due_at = now() + make_interval(secs => %(after_s)s), reason = %(reason)s,
    attempts = attempts - %(unused)s
WHERE id = %(id)s AND owner = %(owner)s AND attempts = %(attempts)s

-- name: done
DELETE FROM grading_jobs WHERE id = %(id)s

-- name: release
-- Jobs of an earlier process of this name are due at once.
UPDATE grading_jobs SET state = 'waiting', due_at = now() WHERE owner = %(owner)s AND state = 'taken'

-- name: waiting
-- How many jobs of these groups wait for a grade, and why the one that waits longest does.
SELECT count(*) AS jobs, min(created_at) AS since, (array_agg(reason ORDER BY created_at) FILTER (WHERE reason IS NOT NULL))[1]
    AS reason
FROM grading_jobs WHERE group_id = ANY (%(group_ids)s::bigint[]) AND grader_hash = %(grader_hash)s
    AND regrade_no = %(regrade_no)s AND state <> 'parked'

-- name: soonest
-- Seconds until a job is due; none without one.
SELECT extract(epoch FROM min(due_at) - now())::double precision AS left_s FROM grading_jobs

-- name: renew
UPDATE grading_jobs SET due_at = now() + make_interval(secs => %(lease_s)s)
WHERE id = ANY (%(ids)s::bigint[]) AND owner = %(owner)s AND state = 'taken'
