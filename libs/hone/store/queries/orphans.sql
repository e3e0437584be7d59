-- Objects that no row names, and the sweep that finds them (orphan_sweeps).

-- name: begin_sweep
-- The first process that asks for a due pass does it.
UPDATE orphan_sweeps SET due_at = now() + make_interval(secs => %(pause_s)s),
    begun_at = CASE WHEN after = '' THEN now() ELSE begun_at END
WHERE due_at <= now()
RETURNING identity, after

-- name: set_reached
UPDATE orphan_sweeps SET after = %(after)s

-- name: note
INSERT INTO orphans (key) SELECT unnest(%(keys)s::text[])
EXCEPT SELECT named_keys(%(owners)s)
ON CONFLICT DO NOTHING

-- name: due
SELECT key FROM orphans WHERE seen_at < now() - make_interval(secs => %(grace_s)s) ORDER BY seen_at LIMIT %(limit)s

-- name: named
-- The keys that a row names after all: a row of their owner, or a version of another model that shares a file.
SELECT key FROM unnest(%(keys)s::text[]) AS k (key)
WHERE key IN (SELECT named_keys(%(owners)s))
    OR key IN (SELECT file.value ->> 'key' FROM versions v, jsonb_each(v.manifest -> 'files') file
               WHERE v.weights_deleted_at IS NULL)

-- name: forget
DELETE FROM orphans WHERE key = ANY (%(keys)s)
