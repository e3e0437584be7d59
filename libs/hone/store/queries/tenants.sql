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
SELECT id, name FROM tenants WHERE id = %(id)s
