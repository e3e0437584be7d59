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
SELECT a.id, a.key_id, k.name AS key, a.action, a.subject, a.request_id, a.address, a.created_at
FROM audit_log a LEFT JOIN api_keys k ON k.id = a.key_id
WHERE a.tenant_id = %(tenant_id)s AND (%(after)s::bigint IS NULL OR a.id < %(after)s)
    AND (%(action)s::text IS NULL OR strpos(a.action, %(action)s) > 0)
    AND (%(subject)s::text IS NULL OR strpos(lower(a.subject), lower(%(subject)s)) > 0)
    AND (%(key_id)s::text IS NULL OR a.key_id = %(key_id)s)
    AND (%(since)s::timestamptz IS NULL OR a.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR a.created_at < %(until)s)
ORDER BY a.id DESC LIMIT %(limit)s
