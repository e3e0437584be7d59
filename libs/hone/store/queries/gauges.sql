-- The statements behind the metrics of hone.telemetry.gauges: the gateway runs them for one tenant, a driver for all.

-- name: runs
SELECT s.state, count(r.id) AS runs
FROM unnest(ARRAY['queued', 'running', 'paused', 'succeeded', 'failed', 'cancelled']) AS s (state)
LEFT JOIN runs r ON r.state = s.state AND r.preflight IS NULL AND r.deleted_at IS NULL GROUP BY s.state

-- name: open_runs
SELECT r.id AS run, coalesce(last.n, 0) AS step, (r.spec ->> 'steps')::integer AS steps,
    (r.spec ->> 'max_staleness')::integer AS max_staleness,
    (r.spec ->> 'gap_alarm_nats')::double precision AS gap_alarm,
    CASE WHEN r.state = 'running' THEN
        extract(epoch FROM now() - greatest(last.committed_at, r.started_at, upper(r.rests))) END AS quiet_s,
    extract(epoch FROM last.committed_at - before.committed_at) - rested.s AS step_s,
    greatest(0, extract(epoch FROM now() - coalesce(r.lease_expires, r.created_at))) AS unheld_s,
    (SELECT avg((t.score IS NULL)::integer) FROM trajectories t WHERE t.group_id = ANY (last.group_ids)) AS masked,
    newest.names ->> 'gap/mean' AS gap, newest.names ->> 'gap/probe_mean' AS probe_gap,
    newest.names ->> 'staleness/mean' AS staleness, newest.names ->> 'value/low_steps' AS low_predictions,
    newest.idle_s - least(newest.idle_s, rested.s) AS idle_s
FROM runs r
LEFT JOIN LATERAL (
    SELECT n, planned_at, committed_at, group_ids FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
    ORDER BY n DESC LIMIT 1) last ON true
LEFT JOIN LATERAL (
    SELECT committed_at FROM steps s
    WHERE s.run_id = r.id AND s.n = last.n - 1 AND s.state = 'committed') before ON true
LEFT JOIN LATERAL (  -- seconds of pause since the commit before; a planned step is trained in a pause as well
    SELECT coalesce(extract(epoch FROM sum(upper(rest) - greatest(lower(rest), before.committed_at))), 0) AS s
    FROM unnest(r.rests) rest
    WHERE upper(rest) > coalesce(before.committed_at, r.started_at) AND upper(rest) <= last.planned_at) rested ON true
LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(m.name, m.value) AS names,
        max(m.value) FILTER (WHERE m.name = 'trainer/idle_s') AS idle_s
    FROM metrics m
    WHERE m.run_id = r.id AND m.step = last.n
        AND m.name = ANY (ARRAY[
            'gap/mean', 'gap/probe_mean', 'staleness/mean', 'trainer/idle_s', 'value/low_steps'])) newest ON true
WHERE r.state IN ('queued', 'running', 'paused') AND r.preflight IS NULL

-- name: groups
SELECT purpose, found.state, count(*) AS groups, extract(epoch FROM now() - min(created_at)) AS oldest_s
FROM groups g, LATERAL (SELECT CASE WHEN g.state = 'ready' THEN 'ready' WHEN claim_expires > now() THEN 'claimed'
    ELSE 'waiting' END AS state) found
WHERE g.state IN ('requested', 'ready') GROUP BY purpose, found.state

-- name: operations
SELECT count(*) AS operations, coalesce(extract(epoch FROM now() - min(created_at)), 0) AS oldest_s
FROM operations WHERE state = 'queued'

-- name: engines
SELECT e.id AS engine, extract(epoch FROM now() - heartbeat_at) AS age_s, count(m.refused_version_id) AS refused
FROM engines e LEFT JOIN engine_models m ON m.engine_id = e.id GROUP BY e.id

-- name: engine_models
-- Joined with models, so that a tenant sees its own models only.
SELECT h.engine_id AS engine, h.model_id AS model, h.generated_tokens, h.generated_samples, h.computed_s
FROM engine_models h JOIN models m ON m.id = h.model_id WHERE h.version_id IS NOT NULL

-- name: workers
SELECT kind, id AS worker, extract(epoch FROM now() - heartbeat_at) AS age_s FROM workers

-- name: deletions
SELECT count(*) AS deletions, coalesce(extract(epoch FROM now() - min(requested_at)), 0) AS oldest_s
FROM deletions WHERE finished_at IS NULL
