-- The audit log.

-- name: add_if_changed
-- Nothing if this transaction has changed no row so far: then it has no number.
INSERT INTO audit_log (tenant_id, key_id, action, subject, request_id, address)
SELECT %(tenant_id)s, %(key_id)s, %(action)s, %(subject)s, %(request_id)s, %(address)s
WHERE pg_current_xact_id_if_assigned() IS NOT NULL

-- name: add
INSERT INTO audit_log (tenant_id, key_id, action, subject, request_id, address)
VALUES (%(tenant_id)s, %(key_id)s, %(action)s, %(subject)s, %(request_id)s, %(address)s)

-- name: page
-- `action` is the beginning of one, `key` that of a key's id, name or prefix, `address` that of an address; `part` is in
-- the subject, `search` in any column.
SELECT a.id, a.key_id, k.name AS key, a.action, a.subject, a.request_id, a.address, a.created_at
FROM audit_log a LEFT JOIN api_keys k ON k.id = a.key_id
WHERE a.tenant_id = %(tenant_id)s
    AND (%(after)s::bigint IS NULL OR (a.created_at, a.id) < (
        SELECT last.created_at, last.id FROM audit_log last WHERE last.id = %(after)s))
    AND (%(action)s::text IS NULL OR starts_with(a.action, %(action)s))
    AND (%(subject)s::text IS NULL OR a.subject = %(subject)s)
    AND (%(part)s::text IS NULL OR strpos(lower(a.subject), lower(%(part)s)) > 0)
    AND (%(key)s::text IS NULL OR starts_with(a.key_id, %(key)s) OR a.key_id IN (
        SELECT named.id FROM api_keys named
        WHERE starts_with(lower(named.name), lower(%(key)s)) OR starts_with(named.prefix, %(key)s)))
    AND (%(address)s::text IS NULL OR starts_with(a.address, %(address)s))
    AND (%(search)s::text IS NULL OR strpos(lower(a.subject), lower(%(search)s)) > 0
        OR strpos(a.action, lower(%(search)s)) > 0 OR strpos(a.address, lower(%(search)s)) > 0
        OR strpos(a.request_id, %(search)s) > 0 OR strpos(a.key_id, lower(%(search)s)) > 0
        OR a.key_id IN (SELECT named.id FROM api_keys named WHERE strpos(lower(named.name), lower(%(search)s)) > 0))
    AND (%(since)s::timestamptz IS NULL OR a.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR a.created_at < %(until)s)
ORDER BY a.created_at DESC, a.id DESC LIMIT %(limit)s
