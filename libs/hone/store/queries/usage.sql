-- name: add
-- What a run used, on the account of the key that asked for it.
INSERT INTO usage (tenant_id, run_id, key_id, kind, amount)
SELECT r.tenant_id, r.id, r.key_id, u.kind, u.amount
FROM runs r, unnest(%(kinds)s::text[], %(amounts)s::double precision[]) AS u (kind, amount)
WHERE r.id = %(run_id)s
