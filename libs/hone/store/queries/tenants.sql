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
FROM tenants WHERE id = %(tenant)s OR name = %(tenant)s ORDER BY id = %(tenant)s DESC LIMIT 1

-- name: page
SELECT id, name, operator, suspended_at, max_runs, max_running_groups, max_tokens_a_day, max_stored_bytes, month_budget,
    created_at
FROM tenants WHERE %(after)s::text IS NULL OR id < %(after)s ORDER BY id DESC LIMIT %(limit)s

-- name: add
INSERT INTO tenants (id, name) VALUES (%(id)s, %(name)s)

-- name: change
UPDATE tenants SET name = %(name)s,
    suspended_at = CASE WHEN %(suspended)s THEN coalesce(suspended_at, now()) END, max_runs = %(max_runs)s,
    max_running_groups = %(max_running_groups)s, max_tokens_a_day = %(max_tokens_a_day)s,
    max_stored_bytes = %(max_stored_bytes)s, month_budget = %(month_budget)s
WHERE id = %(id)s
