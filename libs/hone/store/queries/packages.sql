-- Environment packages under a name of a tenant.

-- name: page
SELECT DISTINCT ON (name) name, digest, version, facts, octet_length(content) AS bytes, created_at FROM packages
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR name > %(after)s)
ORDER BY name, created_at DESC LIMIT %(limit)s

-- name: one
-- What a name means, or meant: by its digest or its version.
SELECT name, digest, version, facts, octet_length(content) AS bytes, created_at FROM packages
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND (%(digest)s::text IS NULL OR digest = %(digest)s)
    AND (%(version)s::integer IS NULL OR version = %(version)s)
ORDER BY created_at DESC LIMIT 1

-- name: content
-- Without a tenant: a service asks.
SELECT content FROM packages
WHERE (%(tenant_id)s::text IS NULL OR tenant_id = %(tenant_id)s) AND digest = %(digest)s LIMIT 1

-- name: known
-- The digest that a reference means: a name, or a digest.
SELECT digest, facts ->> 'format' AS format FROM packages
WHERE tenant_id = %(tenant_id)s AND (name = %(reference)s OR digest = %(reference)s)
ORDER BY name = %(reference)s DESC, created_at DESC LIMIT 1

-- name: lock
-- Holds others who put something under the name, so that each gets a version of its own.
SELECT pg_advisory_xact_lock(hashtextextended('packages ' || %(tenant_id)s || ' ' || %(name)s, 0))

-- name: put
-- The content becomes what the name means, also if it was that before.
INSERT INTO packages (tenant_id, name, digest, version, facts, content)
SELECT %(tenant_id)s, %(name)s, %(digest)s,
    1 + coalesce((SELECT max(version) FROM packages WHERE tenant_id = %(tenant_id)s AND name = %(name)s), 0),
    %(facts)s, %(content)s
ON CONFLICT (tenant_id, name, digest) DO UPDATE SET created_at = now()
RETURNING name, digest, version, facts, octet_length(content) AS bytes, created_at, xmax = 0 AS new

-- name: in_use
-- An open run whose spec names a digest of the name.
SELECT r.id FROM runs r JOIN packages p ON p.tenant_id = r.tenant_id AND strpos(r.spec::text, p.digest) > 0
WHERE p.tenant_id = %(tenant_id)s AND p.name = %(name)s
    AND r.state NOT IN ('succeeded', 'failed', 'cancelled', 'deleting') LIMIT 1

-- name: delete
DELETE FROM packages WHERE tenant_id = %(tenant_id)s AND name = %(name)s
RETURNING name, digest, version, facts, octet_length(content) AS bytes, created_at
