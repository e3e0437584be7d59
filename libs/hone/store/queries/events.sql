-- Events of runs.

-- name: add_of_step
INSERT INTO events (tenant_id, run_id, kind, step, message, data)
VALUES (%(tenant_id)s, %(run_id)s, %(kind)s, %(step)s, %(message)s, %(data)s)

-- name: add_once
INSERT INTO events (tenant_id, run_id, kind, step, message, data)
SELECT %(tenant_id)s, %(run_id)s, %(kind)s, %(step)s, %(message)s, %(data)s
WHERE NOT EXISTS (
    SELECT FROM events WHERE run_id = %(run_id)s AND kind = %(kind)s AND data ->> 'of' = %(of)s)

-- name: add_end
INSERT INTO events (tenant_id, run_id, kind, step, message, data)
SELECT %(tenant_id)s, %(run_id)s, %(kind)s, %(step)s, %(message)s, %(data)s
WHERE EXISTS (SELECT FROM events WHERE run_id = %(run_id)s AND kind = %(warning)s AND data ->> 'of' = %(of)s)
    AND NOT EXISTS (SELECT FROM events WHERE run_id = %(run_id)s AND kind = %(kind)s AND data ->> 'of' = %(of)s)

-- name: lock_of_judge
-- Events about a judge of a run pass here one by one, so that each is there once.
SELECT pg_advisory_xact_lock(hashtext('judge ' || %(judge)s || ' of ' || %(run_id)s))

-- name: add_of_judge
-- Once for each run and judge.
INSERT INTO events (tenant_id, run_id, kind, message, data)
SELECT r.tenant_id, r.id, 'judge.failed', %(message)s, jsonb_build_object('of', %(judge)s::text) FROM runs r
WHERE r.id = %(run_id)s AND NOT EXISTS (
    SELECT FROM events e WHERE e.run_id = r.id AND e.kind = 'judge.failed' AND e.data ->> 'of' = %(judge)s)

-- name: add_bad_rows
INSERT INTO events (tenant_id, run_id, kind, message)
SELECT %(tenant_id)s, %(run_id)s, 'bad_rows', %(message)s
WHERE NOT EXISTS (SELECT FROM events WHERE run_id = %(run_id)s AND kind = 'bad_rows' AND message = %(message)s)

-- name: add
INSERT INTO events (tenant_id, run_id, kind, message, data)
VALUES (%(tenant_id)s, %(run_id)s, %(kind)s, %(message)s, %(data)s)

-- name: after
SELECT id, kind, step, message, data, created_at FROM events
WHERE run_id = %(run_id)s AND id > %(after)s
ORDER BY id LIMIT %(limit)s

-- name: newest
SELECT id, kind, step, message, data, created_at FROM (
    SELECT id, kind, step, message, data, created_at FROM events
    WHERE run_id = %(run_id)s AND id > %(after)s
    ORDER BY id DESC LIMIT %(limit)s) newest ORDER BY id
