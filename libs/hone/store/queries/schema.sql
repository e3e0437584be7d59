-- The version of the tables, which a new database gets with them.

-- name: lock
SELECT pg_advisory_xact_lock(hashtext('hone.schema'))

-- name: has_tables
SELECT to_regclass('tenants') IS NOT NULL AS tables, to_regclass('schema_version') IS NOT NULL AS version

-- name: version
SELECT version FROM schema_version

-- name: record_version
INSERT INTO schema_version (version) VALUES (%(version)s)
