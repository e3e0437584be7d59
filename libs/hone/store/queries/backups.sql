-- A backup: one view of the database, and the objects that its rows name.

-- name: export_snapshot
SELECT pg_export_snapshot() AS id

-- name: named
SELECT DISTINCT named_keys(array(
    SELECT id FROM runs UNION ALL SELECT id FROM models UNION ALL SELECT id FROM artifacts)) AS key
ORDER BY key

-- name: holds_work
SELECT EXISTS (SELECT FROM runs) OR EXISTS (SELECT FROM models) OR EXISTS (SELECT FROM artifacts) AS found
