-- Workers: their heartbeats.

-- name: beat
INSERT INTO workers (id, kind) VALUES (%(id)s, %(kind)s) ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()

-- name: leave
DELETE FROM workers WHERE id = %(id)s

-- name: all
SELECT id, kind, extract(epoch FROM now() - heartbeat_at)::double precision AS age_s FROM workers ORDER BY kind, id

-- name: forget_silent
WITH engine AS (
    DELETE FROM engines WHERE heartbeat_at < now() - make_interval(secs => %(silent_s)s) RETURNING id),
worker AS (
    DELETE FROM workers WHERE heartbeat_at < now() - make_interval(secs => %(silent_s)s) RETURNING id, kind)
SELECT 'engine' AS kind, id FROM engine UNION ALL SELECT kind, id FROM worker ORDER BY kind, id
