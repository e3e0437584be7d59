-- Graders under a name of a tenant.

-- name: page
SELECT DISTINCT ON (name) name, hash, grader, created_at FROM stored_graders
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR name > %(after)s)
ORDER BY name, created_at DESC LIMIT %(limit)s

-- name: one
SELECT name, hash, grader, created_at FROM stored_graders
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND (%(hash)s::text IS NULL OR hash = %(hash)s)
ORDER BY created_at DESC LIMIT 1

-- name: put
-- The content becomes what the name means, also if it was that before.
INSERT INTO stored_graders (tenant_id, name, hash, grader)
VALUES (%(tenant_id)s, %(name)s, %(hash)s, %(grader)s)
ON CONFLICT (tenant_id, name, hash) DO UPDATE SET created_at = now()
RETURNING name, hash, grader, created_at, xmax = 0 AS new

-- name: delete
DELETE FROM stored_graders WHERE tenant_id = %(tenant_id)s AND name = %(name)s
RETURNING name, hash, grader, created_at
