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
