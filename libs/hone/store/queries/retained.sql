-- What a tenant keeps, by kind, and what of it goes first. `at` is when a thing's time began.

-- name: sums
WITH file_sums AS (
    SELECT 'models' AS kind, a.id AS owner, (file.value ->> 'bytes')::bigint AS bytes
        FROM artifacts a, jsonb_each(a.manifest -> 'files') file WHERE a.kind = 'base_model' AND a.deleted_at IS NULL
    UNION ALL SELECT 'datasets', a.id, (file.value ->> 'bytes')::bigint
        FROM artifacts a, jsonb_each(a.manifest -> 'files') file WHERE a.kind = 'dataset' AND a.deleted_at IS NULL
    UNION ALL SELECT 'versions', v.id, (file.value ->> 'bytes')::bigint
        FROM versions v, jsonb_each(v.manifest -> 'files') file
        WHERE v.weights_deleted_at IS NULL AND file.value ->> 'sha256' = v.manifest ->> 'weights_sha256'
    UNION ALL SELECT 'snapshots', m.id, (file.value ->> 'bytes')::bigint
        FROM models m, jsonb_each(m.snapshot -> 'files') file
    UNION ALL SELECT 'exports', o.id, (
            SELECT sum((file.value ->> 'bytes')::bigint)::bigint FROM jsonb_each(o.result -> 'files') file)
        FROM operations o WHERE o.kind = 'export' AND o.deleted_at IS NULL
    UNION ALL SELECT 'uploads', u.id, f.bytes FROM uploads u JOIN upload_files f ON f.upload_id = u.id
        WHERE u.state IN ('open', 'refused') AND f.key IS NOT NULL
    UNION ALL SELECT 'samples', s.owner_id, s.bytes FROM stored_sizes s JOIN runs r ON r.id = s.owner_id
        WHERE r.deleted_at IS NULL AND r.samples_deleted_at IS NULL AND s.bytes > 0)
SELECT kind, count(DISTINCT owner) AS items, coalesce(sum(bytes), 0)::bigint AS bytes FROM file_sums GROUP BY kind
UNION ALL SELECT CASE WHEN preflight IS NULL THEN 'runs' ELSE 'preflights' END, count(*), NULL
    FROM runs WHERE deleted_at IS NULL GROUP BY preflight IS NULL
UNION ALL SELECT 'events', count(*), NULL FROM events
UNION ALL SELECT 'decisions', count(*), NULL FROM decisions

-- name: runs
SELECT id, name, ended_at AS at FROM runs
WHERE preflight IS NULL AND deleted_at IS NULL AND ended_at IS NOT NULL ORDER BY ended_at LIMIT %(limit)s

-- name: runs_due
SELECT count(*) AS due FROM runs
WHERE preflight IS NULL AND deleted_at IS NULL AND ended_at < now() - make_interval(secs => 86400 * %(days)s)

-- name: preflights
SELECT id, name, ended_at AS at FROM runs
WHERE preflight IS NOT NULL AND deleted_at IS NULL AND ended_at IS NOT NULL ORDER BY ended_at LIMIT %(limit)s

-- name: preflights_due
SELECT count(*) AS due FROM runs
WHERE preflight IS NOT NULL AND deleted_at IS NULL AND ended_at < now() - make_interval(secs => 86400 * %(days)s)

-- name: samples
SELECT id, name, ended_at AS at FROM runs
WHERE deleted_at IS NULL AND samples_deleted_at IS NULL AND ended_at IS NOT NULL ORDER BY ended_at LIMIT %(limit)s

-- name: samples_due
SELECT count(*) AS due FROM runs
WHERE deleted_at IS NULL AND samples_deleted_at IS NULL AND ended_at < now() - make_interval(secs => 86400 * %(days)s)

-- name: events
SELECT e.run_id AS id, r.name, greatest(min(e.created_at), r.ended_at) AS at
FROM events e JOIN runs r ON r.id = e.run_id WHERE r.ended_at IS NOT NULL AND r.deleted_at IS NULL
GROUP BY e.run_id, r.name, r.ended_at ORDER BY at LIMIT %(limit)s

-- name: events_due
SELECT count(*) AS due FROM events e JOIN runs r ON r.id = e.run_id
WHERE e.created_at < now() - make_interval(secs => 86400 * %(days)s)
    AND r.ended_at < now() - make_interval(secs => 86400 * %(days)s)

-- name: versions
SELECT v.id, format('%%s version %%s', r.id, v.number) AS name, r.ended_at AS at
FROM (
    SELECT id, policy_model_id, ended_at FROM runs
    WHERE ended_at IS NOT NULL AND deleted_at IS NULL AND thinned_at IS NULL ORDER BY ended_at LIMIT 10 * %(limit)s) r
JOIN versions v ON v.model_id = r.policy_model_id AND expires_with_run(v)
ORDER BY r.ended_at, v.number LIMIT %(limit)s

-- name: versions_due
-- Runs whose versions are looked through next.
SELECT count(*) AS due FROM runs
WHERE ended_at < now() - make_interval(secs => 86400 * %(days)s) AND deleted_at IS NULL AND thinned_at IS NULL

-- name: exports
SELECT id, id AS name, finished_at AS at FROM operations
WHERE kind = 'export' AND state <> 'queued' AND deleted_at IS NULL ORDER BY finished_at LIMIT %(limit)s

-- name: exports_due
SELECT count(*) AS due FROM operations
WHERE kind = 'export' AND state <> 'queued' AND deleted_at IS NULL
    AND finished_at < now() - make_interval(secs => 86400 * %(days)s)

-- name: uploads
SELECT id, name, touched_at AS at FROM uploads WHERE state IN ('open', 'refused') ORDER BY touched_at LIMIT %(limit)s

-- name: uploads_due
SELECT count(*) AS due FROM uploads
WHERE state IN ('open', 'refused') AND touched_at < now() - make_interval(secs => 86400 * %(days)s)

-- name: decisions
SELECT id, route AS name, created_at AS at FROM decisions ORDER BY id LIMIT %(limit)s

-- name: decisions_due
SELECT count(*) AS due FROM decisions WHERE created_at < now() - make_interval(secs => 86400 * %(days)s)
