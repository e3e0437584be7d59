-- Artifacts: base models, datasets, graders.

-- name: dataset
SELECT id, manifest FROM artifacts WHERE tenant_id = %(tenant_id)s AND kind = 'dataset' AND deleted_at IS NULL
    AND (id = %(name)s OR name = %(name)s)

-- name: named
SELECT id, name, hash, manifest, report, created_at FROM artifacts
WHERE kind = %(kind)s AND deleted_at IS NULL AND (id = %(name)s OR name = %(name)s)

-- name: page
SELECT id, name, hash, manifest, report, created_at FROM artifacts
WHERE kind = %(kind)s AND deleted_at IS NULL AND (%(after)s::text IS NULL OR id < %(after)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: add
INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest, report, key_id)
VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(name)s, %(hash)s, %(manifest)s, %(report)s, %(key_id)s)
ON CONFLICT DO NOTHING
