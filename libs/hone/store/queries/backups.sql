-- A backup: one view of the database, and the objects that its rows name.

-- name: export_snapshot
SELECT pg_export_snapshot() AS id

-- name: named
SELECT DISTINCT named_keys(array(
    SELECT id FROM runs UNION ALL SELECT id FROM models UNION ALL SELECT id FROM artifacts)) AS key
ORDER BY key

-- name: holds_work
SELECT EXISTS (SELECT FROM runs) OR EXISTS (SELECT FROM models) OR EXISTS (SELECT FROM artifacts) AS found

-- name: hold_deletions
-- Until the connection ends. One backup at a time.
SELECT pg_advisory_lock(hashtext('hone.backup'))

-- name: lets_delete
-- Whether no backup may still copy what no row names any more. Asked after the commit that forgot the names: a backup
-- that begins later does not know them.
SELECT pg_try_advisory_xact_lock_shared(hashtext('hone.backup')) AS free
