-- The usage of tenants.

-- name: totals
SELECT used.id, coalesce(r.name, k.name, d.name) AS name, used.amounts, used.cost FROM (
    SELECT id, jsonb_object_agg(kind, amount) AS amounts, sum(cost) AS cost FROM (
        SELECT CASE %(by)s WHEN 'run' THEN run_id ELSE key_id END AS id, kind, sum(amount) AS amount,
            sum(cost) AS cost
        FROM costs
        WHERE (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
          AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
          AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
          AND (%(by)s <> 'run' OR run_id IS NOT NULL)
        GROUP BY 1, kind) sums GROUP BY id) used
LEFT JOIN runs r ON r.id = used.id LEFT JOIN api_keys k ON k.id = used.id
LEFT JOIN deletions d ON d.subject_id = used.id ORDER BY used.id

-- name: add
-- Adds to the usage of the key that requested the run.
INSERT INTO usage (tenant_id, run_id, key_id, kind, amount)
SELECT r.tenant_id, r.id, r.key_id, u.kind, u.amount
FROM runs r, unnest(%(kinds)s::text[], %(amounts)s::double precision[]) AS u (kind, amount)
WHERE r.id = %(run_id)s

-- name: sum_hours
-- The rows of hours that are over become one row of an hour, run, key, kind and price list: some of them at a time.
WITH old AS (
    DELETE FROM usage WHERE id = ANY (ARRAY(
        SELECT id FROM usage WHERE NOT summed AND created_at < date_trunc('hour', now()) - interval '1 hour'
        ORDER BY created_at LIMIT %(limit)s))
    RETURNING tenant_id, run_id, key_id, kind, amount, created_at,
        (SELECT max(p.since) FROM prices p WHERE p.since <= created_at) AS priced)
INSERT INTO usage (tenant_id, run_id, key_id, kind, amount, summed, created_at)
SELECT tenant_id, run_id, key_id, kind, sum(amount), true, max(created_at) FROM old
GROUP BY tenant_id, run_id, key_id, kind, date_trunc('hour', created_at), priced

-- name: add_of_run_by_key
-- Adds to the usage of a run by a key that did not request it, perhaps.
INSERT INTO usage (tenant_id, run_id, key_id, kind, amount)
SELECT r.tenant_id, r.id, %(key_id)s, u.kind, u.amount
FROM runs r, unnest(%(kinds)s::text[], %(amounts)s::double precision[]) AS u (kind, amount)
WHERE r.id = %(run_id)s

-- name: add_of_key
-- Adds to the usage of a key's calls that belong to no run.
INSERT INTO usage (tenant_id, key_id, kind, amount)
SELECT %(tenant_id)s, %(key_id)s, u.kind, u.amount
FROM unnest(%(kinds)s::text[], %(amounts)s::double precision[]) AS u (kind, amount)
