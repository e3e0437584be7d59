-- The version of the tables.

-- name: lock
SELECT pg_advisory_xact_lock(hashtext('hone.schema'))

-- name: has_tables
SELECT to_regclass('tenants') IS NOT NULL AS tables, to_regclass('schema_version') IS NOT NULL AS version,
    coalesce(has_table_privilege(to_regclass('schema_version'), 'SELECT'), false) AS readable

-- name: version
SELECT version FROM schema_version

-- name: record_version
INSERT INTO schema_version (version) VALUES (%(version)s)

-- name: upgrade_version
UPDATE schema_version SET version = %(version)s
