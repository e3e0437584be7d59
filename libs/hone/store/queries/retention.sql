-- What is deleted without a request, because it is old. Each statement takes a bounded number of rows.

-- name: preflights
WITH old AS (
    SELECT id FROM runs WHERE preflight IS NOT NULL AND deleted_at IS NULL
        AND ended_at < now() - make_interval(secs => 86400 * %(days)s)
    ORDER BY ended_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
marked AS (
    UPDATE runs r SET deleted_at = now() FROM old WHERE r.id = old.id RETURNING r.id, r.tenant_id, r.name)
INSERT INTO deletions (subject_id, tenant_id, kind, name) SELECT id, tenant_id, 'preflight', name FROM marked
ON CONFLICT DO NOTHING

-- name: runs
-- A run from one of whose versions an open run started is kept.
WITH old AS (
    SELECT id FROM runs r WHERE preflight IS NULL AND deleted_at IS NULL
        AND ended_at < now() - make_interval(secs => 86400 * %(days)s)
        AND NOT EXISTS (
            SELECT FROM versions v JOIN models m ON m.base_version_id = v.id
            JOIN runs o ON o.state IN ('queued', 'running', 'paused')
                AND (m.id = o.policy_model_id OR m.id IN (SELECT value FROM jsonb_each_text(o.roles)))
            WHERE v.model_id = r.policy_model_id)
    ORDER BY ended_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
marked AS (
    UPDATE runs r SET deleted_at = now() FROM old WHERE r.id = old.id RETURNING r.id, r.tenant_id, r.name)
INSERT INTO deletions (subject_id, tenant_id, kind, name) SELECT id, tenant_id, 'run', name FROM marked
ON CONFLICT DO NOTHING

-- name: samples
WITH old AS (
    SELECT id FROM runs WHERE deleted_at IS NULL AND samples_deleted_at IS NULL
        AND ended_at < now() - make_interval(secs => 86400 * %(days)s)
    ORDER BY ended_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
marked AS (
    UPDATE runs r SET samples_deleted_at = now() FROM old WHERE r.id = old.id RETURNING r.id, r.tenant_id, r.name)
INSERT INTO deletions (subject_id, tenant_id, kind, name) SELECT id || '-samples', tenant_id, 'samples', name FROM marked
ON CONFLICT DO NOTHING

-- name: versions
-- Weights of ended runs, once for each run, but for those that a request could not delete either. Returns the runs.
WITH old AS (
    SELECT id, tenant_id, policy_model_id FROM runs
    WHERE deleted_at IS NULL AND thinned_at IS NULL AND ended_at < now() - make_interval(secs => 86400 * %(days)s)
    ORDER BY ended_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
gone AS (
    UPDATE versions v SET weights_deleted_at = now() FROM old
    WHERE v.model_id = old.policy_model_id AND expires_with_run(v)
    RETURNING v.id, v.tenant_id, format('%%s version %%s', old.id, v.number) AS name),
noted AS (
    INSERT INTO deletions (subject_id, tenant_id, kind, name) SELECT id, tenant_id, 'checkpoint', name FROM gone
    ON CONFLICT DO NOTHING)
UPDATE runs r SET thinned_at = now() FROM old WHERE r.id = old.id

-- name: events
DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e JOIN runs r ON r.id = e.run_id
    WHERE e.created_at < now() - make_interval(secs => 86400 * %(days)s)
        AND r.ended_at < now() - make_interval(secs => 86400 * %(days)s) LIMIT %(limit)s))

-- name: exports
WITH old AS (
    SELECT id FROM operations WHERE kind = 'export' AND state <> 'queued' AND deleted_at IS NULL
        AND finished_at < now() - make_interval(secs => 86400 * %(days)s)
    ORDER BY finished_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
marked AS (UPDATE operations o SET deleted_at = now() FROM old WHERE o.id = old.id RETURNING o.id, o.tenant_id)
INSERT INTO deletions (subject_id, tenant_id, kind, name) SELECT id, tenant_id, 'export', id FROM marked
ON CONFLICT DO NOTHING

-- name: idempotency
DELETE FROM idempotency_keys WHERE (tenant_id, key) IN (
    SELECT tenant_id, key FROM idempotency_keys
    WHERE created_at < now() - make_interval(secs => 86400 * %(days)s) ORDER BY created_at LIMIT %(limit)s)

-- name: decisions
DELETE FROM decisions WHERE id = ANY (ARRAY(
    SELECT id FROM decisions WHERE created_at < now() - make_interval(secs => 86400 * %(days)s)
    LIMIT 10 * %(limit)s))

-- name: judge_answers
DELETE FROM judge_answers WHERE (tenant_id, hash) IN (
    SELECT tenant_id, hash FROM judge_answers
    WHERE created_at < now() - make_interval(secs => 86400 * %(days)s) LIMIT 10 * %(limit)s)

-- name: grader_checks
-- A run compares with its first check until it has ended.
DELETE FROM grader_checks WHERE id = ANY (ARRAY(
    SELECT c.id FROM grader_checks c WHERE c.ended_at < now() - make_interval(secs => 86400 * %(days)s)
        AND NOT EXISTS (SELECT FROM runs r WHERE r.id = c.run_id AND r.state IN ('queued', 'running', 'paused'))
    LIMIT 10 * %(limit)s))

-- name: simulations
-- Fits that failed, and what fits said of groups that nobody measured. Simulators and their calibration stay.
WITH failed AS (
    DELETE FROM audience_fits WHERE id = ANY (ARRAY(
        SELECT id FROM audience_fits WHERE state = 'failed' AND ended_at < now() - make_interval(secs => 86400 * %(days)s)
        LIMIT %(limit)s)))
DELETE FROM audience_groups WHERE id = ANY (ARRAY(
    SELECT id FROM audience_groups
    WHERE purpose = 'simulation' AND created_at < now() - make_interval(secs => 86400 * %(days)s) LIMIT 10 * %(limit)s))

-- name: journal
-- Calls of groups that have ended or are gone: the transactions that end a group delete them, so none is expected.
DELETE FROM journal WHERE group_id IN (
    SELECT j.group_id FROM journal j LEFT JOIN groups g ON g.id = j.group_id
    WHERE g.state IS DISTINCT FROM 'requested' LIMIT %(limit)s)

-- name: asked
-- Models that were made to ask one version alone: they keep its weights, and the next request makes another.
UPDATE models SET deleted_at = now() WHERE id = ANY (ARRAY(
    SELECT id FROM models
    WHERE deleted_at IS NULL AND jsonb_exists(config, 'asked') AND base_version_id IS NOT NULL
        AND created_at < now() - interval '1 day' LIMIT %(limit)s))
