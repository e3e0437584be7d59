-- API keys.

-- name: add
INSERT INTO api_keys (id, tenant_id, name, prefix, hash)
VALUES (%(id)s, %(tenant_id)s, %(name)s, %(prefix)s, %(hash)s)

-- name: all
SELECT k.id, k.name, k.prefix, t.name AS tenant, k.created_at, k.revoked_at
FROM api_keys k JOIN tenants t ON t.id = k.tenant_id
ORDER BY k.id

-- name: revoke
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE id = %(key)s OR prefix = %(key)s

-- name: holder
SELECT id, tenant_id FROM key_holder(%(hash)s)
