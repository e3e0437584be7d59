-- API keys.

-- name: add
INSERT INTO api_keys (id, tenant_id, name, prefix, hash, scopes, expires_at)
VALUES (%(id)s, %(tenant_id)s, %(name)s, %(prefix)s, %(hash)s, %(scopes)s, %(expires_at)s)

-- name: page
SELECT id, name, prefix, scopes, created_at, expires_at, last_used_at, revoked_at FROM api_keys
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR id < %(after)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: one
SELECT id, name, prefix, scopes, created_at, expires_at, last_used_at, revoked_at FROM api_keys
WHERE tenant_id = %(tenant_id)s AND (id = %(key)s OR prefix = %(key)s) ORDER BY id LIMIT 1

-- name: lock_revocations
-- Revocations of a tenant's keys pass here one by one, so that two admin keys do not revoke each other.
SELECT pg_advisory_xact_lock(hashtext('revocations of ' || %(tenant_id)s))

-- name: other_admin
-- A row if the tenant has an admin key in use that is not this one, or if this one is none in use.
SELECT true AS found FROM api_keys WHERE tenant_id = %(tenant_id)s AND (id <> %(id)s) = (
    'admin' = ANY (scopes) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) LIMIT 1

-- name: revoke
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = %(id)s

-- name: note_use
UPDATE api_keys SET last_used_at = now()
WHERE id = %(id)s AND (last_used_at IS NULL OR last_used_at < now() - make_interval(secs => %(every_s)s))

-- name: holder
SELECT id, tenant_id, name, scopes, operator FROM key_holder(%(hash)s)

-- name: in_use
-- Which of these hashes are of a key that is in use.
SELECT asked.hash FROM unnest(%(hashes)s::bytea[]) AS asked (hash), key_holder(asked.hash)

-- name: expiry
-- When a key expires, and whether the time that is wanted of another has passed.
SELECT expires_at, coalesce(%(wanted)s::timestamptz <= now(), false) AS passed FROM api_keys WHERE id = %(id)s

-- name: any
SELECT id FROM api_keys LIMIT 1
