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

-- name: clear
-- For psql: drops the tables, views and functions that migrations of this release made, a list of names.
SELECT set_config('hone.names', :'names', true);
DO $$
DECLARE dropping text;
BEGIN
    FOREACH dropping IN ARRAY array(  -- all names before the first drop: a dropped function has none
        SELECT format('DROP %s IF EXISTS %s CASCADE', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')
            AND relname = ANY (string_to_array(current_setting('hone.names'), ' '))
        UNION ALL SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
            AND proname = ANY (string_to_array(current_setting('hone.names'), ' ')))
    LOOP
        EXECUTE dropping;
    END LOOP;
END $$
