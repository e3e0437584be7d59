-- Evaluations of held-out tasks, source by source.

-- name: add
INSERT INTO evaluations (run_id, tenant_id, step, source, series, tasks, scores)
VALUES (%(run_id)s, %(tenant_id)s, %(step)s, %(source)s, %(series)s, %(tasks)s, %(scores)s)
ON CONFLICT (run_id, step, source, series) DO NOTHING

-- name: at_steps
SELECT step, source, tasks, scores FROM evaluations
WHERE run_id = %(run_id)s AND series = %(series)s AND step = ANY (%(steps)s)
ORDER BY step, source
