-- Tenants.

-- name: enter
SELECT set_config('role', 'hone_gateway', true), set_config('hone.tenant', %(tenant)s, true)

-- name: operate
-- From here on the transaction administers every tenant, if its own is an operator.
SELECT set_config('hone.operator', 'on', true), operates() AS allowed

-- name: ensure
-- The first tenant of a stack is its operator.
INSERT INTO tenants (id, name, operator) SELECT %(id)s, %(name)s, NOT EXISTS (SELECT FROM tenants)
ON CONFLICT (name) DO NOTHING

-- name: named
SELECT id FROM tenants WHERE name = %(name)s

-- name: is_only
SELECT single_tenant() AS only

-- name: one
-- By id or name.
SELECT id, name, operator, suspended_at, max_runs, max_running_groups, max_tokens_a_day, max_stored_bytes, month_budget,
    created_at
FROM tenants WHERE (id = %(tenant)s OR name = %(tenant)s) AND deleted_at IS NULL ORDER BY id = %(tenant)s DESC LIMIT 1

-- name: page
SELECT id, name, operator, suspended_at, max_runs, max_running_groups, max_tokens_a_day, max_stored_bytes, month_budget,
    created_at
FROM tenants WHERE (%(after)s::text IS NULL OR id < %(after)s) AND deleted_at IS NULL ORDER BY id DESC LIMIT %(limit)s

-- name: add
INSERT INTO tenants (id, name) VALUES (%(id)s, %(name)s)

-- name: delete
-- What the tenant holds. If that is nothing it is deleted now.
SELECT runs, models, datasets, uploads FROM delete_tenant(%(id)s)

-- name: change
UPDATE tenants SET name = %(name)s,
    suspended_at = CASE WHEN %(suspended)s THEN coalesce(suspended_at, now()) END, max_runs = %(max_runs)s,
    max_running_groups = %(max_running_groups)s, max_tokens_a_day = %(max_tokens_a_day)s,
    max_stored_bytes = %(max_stored_bytes)s, month_budget = %(month_budget)s
WHERE id = %(id)s

-- name: quotas
-- The quotas of a tenant, and what it uses of each now.
SELECT t.max_runs, t.max_running_groups, t.max_tokens_a_day, t.max_stored_bytes, t.month_budget,
    (SELECT count(*) FROM runs r
        WHERE r.tenant_id = t.id AND r.state IN ('running', 'paused') AND r.preflight IS NULL) AS runs,
    (SELECT count(*) FROM groups g
        WHERE g.tenant_id = t.id AND g.state = 'requested' AND g.claim_expires > now()) AS running_groups,
    (SELECT coalesce(sum(amount), 0)::bigint FROM usage u
        WHERE u.tenant_id = t.id AND u.kind IN ('completion_tokens', 'trained_tokens')
            AND u.created_at >= date_trunc('day', now(), 'UTC')) AS tokens_a_day,
    stored_bytes(t.id) AS stored_bytes,
    (SELECT coalesce(sum(c.cost), 0) FROM costs c
        WHERE c.tenant_id = t.id AND c.created_at >= date_trunc('month', now(), 'UTC')) AS month_cost,
    (SELECT currency FROM prices ORDER BY since DESC LIMIT 1) AS currency
FROM tenants t WHERE t.id = %(tenant)s

-- name: limits
-- The limits of a tenant, and what is used of each. What has no limit is not summed up, and what is stored only with
-- `storage`.
SELECT t.suspended_at IS NOT NULL AS suspended, p.currency, t.month_budget, t.max_tokens_a_day, t.max_stored_bytes,
    CASE WHEN t.month_budget IS NOT NULL THEN (
        SELECT coalesce(sum(c.cost), 0) FROM costs c
        WHERE c.tenant_id = t.id AND c.created_at >= date_trunc('month', now(), 'UTC')) END AS month_cost,
    CASE WHEN t.max_tokens_a_day IS NOT NULL THEN (
        SELECT coalesce(sum(u.amount), 0) FROM usage u
        WHERE u.tenant_id = t.id AND u.kind IN ('completion_tokens', 'trained_tokens')
            AND u.created_at >= date_trunc('day', now(), 'UTC')) END AS tokens_a_day,
    CASE WHEN %(storage)s AND t.max_stored_bytes IS NOT NULL THEN stored_bytes(t.id) END AS stored_bytes
FROM tenants t CROSS JOIN LATERAL (SELECT currency FROM prices ORDER BY since DESC LIMIT 1) p
WHERE t.id = %(tenant)s

-- name: lock_storage
-- Requests that add to what a tenant stores pass here one by one.
SELECT pg_advisory_xact_lock(hashtext('stored bytes of ' || %(tenant)s))

-- name: stored_bytes
-- With the exports that are asked for and not made yet.
SELECT t.max_stored_bytes, stored_bytes(t.id) + (
    SELECT coalesce(sum(weight_bytes(v)), 0) FROM operations o JOIN versions v ON v.id = o.payload ->> 'version_id'
    WHERE o.tenant_id = t.id AND o.kind = 'export' AND o.state = 'queued')::bigint AS stored_bytes
FROM tenants t WHERE t.id = %(tenant)s AND t.max_stored_bytes IS NOT NULL
