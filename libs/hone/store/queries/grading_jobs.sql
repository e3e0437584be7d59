-- Grades that take a while: the samples that jobs of reward services grade.

-- name: add
-- Returns how many are new. An equal job is there already, or was done.
INSERT INTO grading_jobs (tenant_id, run_id, group_id, grader_hash, indexes, regrade_no, body)
SELECT g.tenant_id, g.run_id, t.group_id, %(grader_hash)s, t.indexes, %(regrade_no)s, decode(t.body, 'base64')
FROM json_to_recordset(%(jobs)s::json) AS t (group_id bigint, indexes integer[], body text)
JOIN groups g ON g.id = t.group_id AND g.run_id = %(run_id)s AND g.tenant_id = %(tenant_id)s
ORDER BY t.group_id, t.indexes
ON CONFLICT (group_id, grader_hash, indexes, regrade_no) DO NOTHING
RETURNING id

-- name: begin
SELECT tenant_id, run_id, group_id, grader_hash, indexes, regrade_no, body FROM grading_jobs WHERE id = %(id)s

-- name: done
DELETE FROM grading_jobs WHERE id = %(id)s

-- name: waiting
-- How many jobs of these groups wait for a grade, and why the one that waits longest does.
SELECT count(*) AS jobs, (array_agg(j.reason ORDER BY j.created_at) FILTER (WHERE j.reason IS NOT NULL))[1] AS reason
FROM grading_jobs g JOIN jobs j ON j.kind = 'grading' AND j.subject = g.id::text
WHERE g.group_id = ANY (%(group_ids)s::bigint[]) AND g.grader_hash = %(grader_hash)s AND g.regrade_no = %(regrade_no)s
    AND NOT j.late
