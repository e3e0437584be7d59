-- What is stored: bytes of tables with their indexes, of the log of writes (WAL) so far, of the newest version and of its snapshot.
SELECT (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind = 'r')::bigint AS tables,
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS log,
    (SELECT sum((file.value ->> 'bytes')::bigint) FROM versions v, jsonb_each(v.manifest -> 'files') file
     WHERE v.id = (SELECT id FROM versions WHERE state = 'live' ORDER BY created_at DESC LIMIT 1))::bigint AS version,
    (SELECT sum((file.value ->> 'bytes')::bigint) FROM models m, jsonb_each(m.snapshot -> 'files') file)::bigint AS snapshot
