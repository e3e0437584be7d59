-- name: beat
INSERT INTO workers (id, kind) VALUES (%(id)s, %(kind)s) ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()

-- name: leave
DELETE FROM workers WHERE id = %(id)s

-- name: all
SELECT id, kind, extract(epoch FROM now() - heartbeat_at)::double precision AS age_s FROM workers ORDER BY kind, id
