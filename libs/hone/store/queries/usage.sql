-- The usage of tenants.

-- name: by_run
-- Runs that have usage, newest first.
WITH used AS (
    SELECT DISTINCT run_id FROM usage u
    WHERE u.tenant_id = %(tenant_id)s AND run_id IS NOT NULL AND (%(after)s::text IS NULL OR run_id < %(after)s)
        AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
        AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
    ORDER BY run_id DESC LIMIT %(limit)s)
SELECT sums.id, coalesce(r.name, d.name) AS name, sums.amounts, sums.cost FROM (
    SELECT run_id AS id, jsonb_object_agg(kind, amount) AS amounts, sum(cost) AS cost FROM (
        SELECT run_id, kind, sum(amount) AS amount, sum(cost) AS cost FROM costs c
        WHERE c.tenant_id = %(tenant_id)s AND run_id IN (SELECT run_id FROM used)
            AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
            AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
        GROUP BY run_id, kind) of_kind GROUP BY run_id) sums
LEFT JOIN runs r ON r.id = sums.id LEFT JOIN deletions d ON d.subject_id = sums.id ORDER BY sums.id DESC

-- name: by_key
-- Keys that have usage, newest first; last, without an id, what no key asked for.
SELECT sums.id, k.name, sums.amounts, sums.cost FROM (
    SELECT key_id AS id, jsonb_object_agg(kind, amount) AS amounts, sum(cost) AS cost FROM (
        SELECT key_id, kind, sum(amount) AS amount, sum(cost) AS cost FROM costs c
        WHERE c.tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR coalesce(key_id, '') < %(after)s)
            AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
            AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
            AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
        GROUP BY key_id, kind) of_kind GROUP BY key_id) sums
LEFT JOIN api_keys k ON k.id = sums.id ORDER BY sums.id DESC NULLS LAST LIMIT %(limit)s

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
