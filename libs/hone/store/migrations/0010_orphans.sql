-- Objects that no row names, since when. Each key is written once and named soon after, or never: what was seen here
-- before the longest upload or lease could begin and is still unnamed belongs to nobody.
CREATE TABLE orphans (
    key         text PRIMARY KEY,
    seen_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orphans_oldest ON orphans (seen_at);

-- The one sweep that finds them goes round all keys, a stretch at a time. Its identity stands in the object store as well:
-- a store whose objects the rows of another database name is left alone.
CREATE TABLE orphan_sweeps (
    identity    text PRIMARY KEY DEFAULT md5(random()::text || clock_timestamp()::text),
    due_at      timestamptz NOT NULL DEFAULT now(),
    after       text NOT NULL DEFAULT ''
);
INSERT INTO orphan_sweeps DEFAULT VALUES;
GRANT SELECT, INSERT, UPDATE, DELETE ON orphans TO hone_worker;
GRANT SELECT, UPDATE ON orphan_sweeps TO hone_worker;

-- Every object that rows of these runs, models and artifacts name. Of a version whose weights were let go all but those.
CREATE FUNCTION named_keys(owners text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT unnest(g.parts) FROM groups g WHERE g.run_id = ANY (owners)
    UNION ALL SELECT t.part FROM trajectories t WHERE t.run_id = ANY (owners)
    UNION ALL SELECT jsonb_array_elements_text(s.plan -> 'parts') FROM steps s WHERE s.run_id = ANY (owners)
    UNION ALL SELECT file.value ->> 'key' FROM versions v, jsonb_each(v.manifest -> 'files') file
        WHERE v.model_id = ANY (owners)
            AND (v.weights_deleted_at IS NULL OR file.value ->> 'sha256' <> v.manifest ->> 'weights_sha256')
    UNION ALL SELECT file.value ->> 'key' FROM models m, jsonb_each(m.snapshot -> 'files') file
        WHERE m.id = ANY (owners)
    UNION ALL SELECT file.value ->> 'key' FROM operations o, jsonb_each(o.result -> 'files') file
        WHERE o.model_id = ANY (owners) AND o.kind = 'export'
    UNION ALL SELECT file.value ->> 'key' FROM artifacts a, jsonb_each(a.manifest -> 'files') file
        WHERE a.id = ANY (owners)
$$;
