-- Tenants.

-- name: enter
SELECT set_config('role', 'hone_gateway', true), set_config('hone.tenant', %(tenant)s, true)

-- name: ensure
INSERT INTO tenants (id, name) VALUES (%(id)s, %(name)s)
ON CONFLICT (name) DO NOTHING

-- name: named
SELECT id FROM tenants WHERE name = %(name)s

-- name: is_only
SELECT single_tenant() AS only
