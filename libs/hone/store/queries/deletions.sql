-- Deletions: what requests deleted, and how a driver removes it in batches.

-- name: add
-- Nothing if it is being deleted already.
INSERT INTO deletions (subject_id, tenant_id, key_id, kind, name)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(kind)s, %(name)s) ON CONFLICT DO NOTHING

-- name: named
-- The newest deletion of this id or name.
SELECT d.subject_id AS id, d.kind, d.name, d.requested_at, d.finished_at, d.removed_rows,
    deletion_waits_for(d) AS waits_for
FROM deletions d WHERE (d.kind = %(kind)s OR %(kind)s::text IS NULL) AND (d.subject_id = %(name)s OR d.name = %(name)s)
ORDER BY d.requested_at DESC LIMIT 1

-- name: page
SELECT d.subject_id AS id, d.kind, d.name, d.requested_at, d.finished_at, d.removed_rows,
    deletion_waits_for(d) AS waits_for
FROM deletions d
WHERE d.kind <> 'preflight' AND (%(after)s::text IS NULL OR (d.requested_at, d.subject_id) < (
    SELECT last.requested_at, last.subject_id FROM deletions last WHERE last.subject_id = %(after)s))
ORDER BY d.requested_at DESC, d.subject_id DESC LIMIT %(limit)s

-- Marks --------------------------------------------------------------------------------------------------------------

-- name: lock_run
SELECT id, name, key_id, state, policy_model_id FROM runs WHERE id = %(id)s AND deleted_at IS NULL FOR UPDATE

-- name: mark_run
-- A run that has not ended is cancelled first. With the models that answer for its versions.
WITH asked AS (
    UPDATE models SET deleted_at = now()
    WHERE deleted_at IS NULL AND jsonb_exists(config, 'asked') AND base_version_id IN (
        SELECT v.id FROM runs r JOIN versions v ON v.model_id = r.policy_model_id WHERE r.id = %(id)s))
UPDATE runs SET deleted_at = now(),
    desired = CASE WHEN state IN ('queued', 'running', 'paused') THEN 'cancel' ELSE desired END
WHERE id = %(id)s

-- name: runs_from_run
-- Open runs with a model that starts from a version of this run.
SELECT r.id, r.name FROM runs r
WHERE r.state IN ('queued', 'running', 'paused') AND r.id <> %(id)s AND EXISTS (
    SELECT FROM models m JOIN versions v ON v.id = m.base_version_id
    WHERE (m.id = r.policy_model_id OR m.id IN (SELECT value FROM jsonb_each_text(r.roles)))
        AND v.model_id = %(model_id)s)
ORDER BY r.id LIMIT 10

-- name: lock_samples
-- None is left once they were deleted.
SELECT id || '-samples' AS id, name, key_id, state FROM runs
WHERE id = %(id)s AND deleted_at IS NULL AND samples_deleted_at IS NULL FOR UPDATE

-- name: mark_samples
UPDATE runs SET samples_deleted_at = now() WHERE id = %(id)s

-- name: lock_artifact
SELECT id, name, key_id FROM artifacts
WHERE kind = %(kind)s AND (id = %(name)s OR name = %(name)s) AND deleted_at IS NULL FOR UPDATE

-- name: mark_artifact
-- With the model that answers for it.
WITH asked AS (
    UPDATE models SET deleted_at = now()
    WHERE base_artifact_id = %(id)s AND deleted_at IS NULL AND jsonb_exists(config, 'asked'))
UPDATE artifacts SET deleted_at = now() WHERE id = %(id)s

-- name: runs_from_artifact
-- Open runs with a model that starts from this one, or that read this dataset.
SELECT r.id, r.name FROM runs r
WHERE r.state IN ('queued', 'running', 'paused') AND (
    EXISTS (SELECT FROM models m WHERE m.base_artifact_id = %(id)s
        AND (m.id = r.policy_model_id OR m.id IN (SELECT value FROM jsonb_each_text(r.roles))))
    OR %(kind)s = 'dataset' AND jsonb_path_exists(
        r.spec, '$.**.dataset ? (@ == $id || @ == $name)',
        jsonb_build_object('id', %(id)s::text, 'name', %(name)s::text))
    OR %(kind)s = 'dataset' AND r.spec #>> '{judge_check,set}' IN ('dataset:' || %(id)s::text, 'dataset:' || %(name)s::text))
ORDER BY r.id LIMIT 10

-- name: mark_export
-- One that is queued fails. A trainer that is making it finds that out when it has finished.
UPDATE operations SET deleted_at = now(), state = CASE state WHEN 'queued' THEN 'failed' ELSE state END,
    error_category = CASE state WHEN 'queued' THEN 'user' ELSE error_category END,
    reason = CASE state WHEN 'queued' THEN 'the export was deleted' ELSE reason END,
    finished_at = coalesce(finished_at, now())
WHERE id = %(id)s AND kind = 'export' AND deleted_at IS NULL
RETURNING id, id AS name, (SELECT r.key_id FROM runs r WHERE r.policy_model_id = operations.model_id) AS key_id

-- name: lock_version
SELECT v.id, v.number, v.model_id, r.key_id, v.weights_deleted_at IS NULL AS stored, r.id AS run_id, r.state AS run_state,
    v.number = (SELECT max(w.number) FROM versions w WHERE w.model_id = v.model_id AND w.state = 'live') AS newest
FROM versions v JOIN runs r ON r.policy_model_id = v.model_id
WHERE r.id = %(run_id)s AND r.deleted_at IS NULL AND v.id = %(id)s FOR UPDATE OF v

-- name: mark_version
WITH asked AS (
    UPDATE models SET deleted_at = now()
    WHERE base_version_id = %(id)s AND deleted_at IS NULL AND jsonb_exists(config, 'asked'))
UPDATE versions SET weights_deleted_at = now() WHERE id = %(id)s AND weights_deleted_at IS NULL

-- name: runs_from_version
-- Runs, ended ones too, with a model that starts from this version: they may need its files.
SELECT r.id, r.name FROM models m
JOIN runs r ON r.policy_model_id = m.id OR m.id IN (SELECT value FROM jsonb_each_text(r.roles))
WHERE m.base_version_id = %(id)s ORDER BY r.id LIMIT 10

-- name: waiting_for_version
-- Groups and exports that have asked for exactly this version and do not have it yet.
SELECT (SELECT count(*) FROM groups g
        WHERE g.run_id = %(run_id)s AND g.state = 'requested' AND g.version_id = %(id)s) AS groups,
    (SELECT count(*) FROM operations o
        WHERE o.model_id = %(model_id)s AND o.state = 'queued' AND o.kind = 'export'
            AND o.payload ->> 'version_id' = %(id)s) AS exports

-- Removal ------------------------------------------------------------------------------------------------------------

-- name: lock
-- A deletion that has not finished, locked for a batch, and what it waits for: a run to end, a model to have no heirs.
UPDATE deletions d SET worked_at = now() WHERE d.subject_id = %(id)s AND d.finished_at IS NULL
RETURNING d.subject_id, regexp_replace(d.subject_id, '-samples$', '') AS owner_id, d.kind, d.after,
    deletion_waits_for(d) AS waits_for, extract(epoch FROM now() - d.requested_at)::float AS age_s

-- name: count
UPDATE deletions SET removed_rows = removed_rows + %(rows)s WHERE subject_id = %(id)s

-- name: remove_groups
WITH gone AS (
    DELETE FROM groups WHERE id = ANY (ARRAY(SELECT id FROM groups WHERE run_id = %(id)s LIMIT %(limit)s)) RETURNING id),
trajectory AS (DELETE FROM trajectories t USING gone WHERE t.group_id = gone.id RETURNING 1),
grade AS (DELETE FROM grades t USING gone WHERE t.group_id = gone.id RETURNING 1),
call AS (DELETE FROM journal t USING gone WHERE t.group_id = gone.id RETURNING 1),
job AS (DELETE FROM grading_jobs t USING gone WHERE t.group_id = gone.id RETURNING t.id),
queued AS (DELETE FROM jobs t USING job WHERE t.kind = 'grading' AND t.subject = job.id::text)
SELECT (SELECT count(*) FROM gone) AS found, (SELECT count(*) FROM gone) + (SELECT count(*) FROM trajectory)
    + (SELECT count(*) FROM grade) + (SELECT count(*) FROM call) + (SELECT count(*) FROM job) AS rows

-- name: remove_prompts
WITH gone AS (
    DELETE FROM prompts
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM prompts WHERE run_id = %(id)s LIMIT %(limit)s)) RETURNING 1)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: forget_parts
-- A step keeps its plan, but names the objects of its samples no more.
WITH gone AS (
    UPDATE steps SET plan = jsonb_set(plan, '{parts}', '[]')
    WHERE run_id = %(id)s AND n = ANY (ARRAY(
        SELECT n FROM steps WHERE run_id = %(id)s AND plan -> 'parts' <> '[]' LIMIT %(limit)s))
    RETURNING 1)
SELECT count(*) AS found, 0 AS rows FROM gone

-- name: remove_metrics
WITH gone AS (
    DELETE FROM metrics
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM metrics WHERE run_id = %(id)s LIMIT 10 * %(limit)s))
    RETURNING 1)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: remove_evaluations
WITH gone AS (
    DELETE FROM evaluations
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM evaluations WHERE run_id = %(id)s LIMIT %(limit)s))
    RETURNING 1)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: remove_events
WITH gone AS (
    DELETE FROM events WHERE id = ANY (ARRAY(SELECT id FROM events WHERE run_id = %(id)s LIMIT 10 * %(limit)s))
    RETURNING 1)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: remove_steps
WITH gone AS (
    DELETE FROM steps WHERE run_id = %(id)s AND n = ANY (ARRAY(SELECT n FROM steps WHERE run_id = %(id)s LIMIT %(limit)s))
    RETURNING 1)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: remove_run
-- The last of a run: points that sinks lack, and its collections. From now on its models are nobody's.
WITH gone AS (DELETE FROM runs WHERE id = %(id)s RETURNING policy_model_id, roles),
unsent AS (DELETE FROM unsent_points WHERE run_id = %(id)s),
opened AS (DELETE FROM sink_runs WHERE run_id = %(id)s),
of_run AS (SELECT policy_model_id AS id FROM gone UNION SELECT role.value FROM gone, jsonb_each_text(gone.roles) role),
marked AS (
    UPDATE models m SET deleted_at = now(), snapshot = NULL FROM of_run WHERE m.id = of_run.id RETURNING 1)
SELECT 0 AS found, (SELECT count(*) FROM gone) AS rows

-- name: remove_artifact
WITH gone AS (DELETE FROM artifacts WHERE id = %(id)s RETURNING 1)
SELECT 0 AS found, count(*) AS rows FROM gone

-- name: remove_export
-- The row stays in the operation log, which has no gaps.
WITH asked AS (SELECT id, result FROM operations WHERE id = %(id)s FOR UPDATE),
gone AS (UPDATE operations o SET result = o.result - 'files' FROM asked WHERE o.id = asked.id RETURNING o.id),
noted AS (
    INSERT INTO orphans (key, seen_at)
    SELECT DISTINCT file.value ->> 'key', '-infinity'::timestamptz FROM asked, jsonb_each(asked.result -> 'files') file
    ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at RETURNING 1)
SELECT 0 AS found, 0 AS rows

-- name: remove_checkpoint
-- The row stays: later versions descend from it.
WITH noted AS (
    INSERT INTO orphans (key, seen_at)
    SELECT DISTINCT file.value ->> 'key', '-infinity'::timestamptz
    FROM versions v, jsonb_each(v.manifest -> 'files') file
    WHERE v.id = %(id)s AND file.value ->> 'sha256' = v.manifest ->> 'weights_sha256'
    ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at RETURNING 1)
SELECT 0 AS found, 0 AS rows

-- name: note_objects
-- Objects of something whose rows are gone need no grace: no process will name them any more.
INSERT INTO orphans (key, seen_at) SELECT unnest(%(keys)s::text[]), '-infinity'
ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at

-- name: set_reached
UPDATE deletions SET after = %(after)s, finished_at = CASE WHEN %(finished)s THEN now() END WHERE subject_id = %(id)s

-- name: next_model
-- A model of a deleted run, locked, that has rows to remove. `kept`: another model starts from one of its versions, and
-- its other versions go.
SELECT m.id, base.kept FROM models m, LATERAL (SELECT EXISTS (
    SELECT FROM versions v JOIN models b ON b.base_version_id = v.id WHERE v.model_id = m.id) AS kept) base
WHERE m.deleted_at IS NOT NULL AND (NOT base.kept OR EXISTS (
    SELECT FROM versions v WHERE v.model_id = m.id
        AND NOT EXISTS (SELECT FROM models b WHERE b.base_version_id = v.id)))
ORDER BY m.deleted_at LIMIT 1 FOR UPDATE OF m SKIP LOCKED

-- name: remove_operations
WITH gone AS (
    DELETE FROM operations
    WHERE id = ANY (ARRAY(SELECT id FROM operations WHERE model_id = %(id)s LIMIT 10 * %(limit)s))
    RETURNING 1)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: remove_versions
-- Those that no model starts from, and their files but for those that another row names.
WITH gone AS (
    DELETE FROM versions WHERE id = ANY (ARRAY(
        SELECT v.id FROM versions v WHERE v.model_id = %(id)s
            AND NOT EXISTS (SELECT FROM models b WHERE b.base_version_id = v.id) LIMIT %(limit)s))
    RETURNING manifest),
noted AS (
    INSERT INTO orphans (key, seen_at)
    SELECT DISTINCT file.value ->> 'key', '-infinity'::timestamptz FROM gone, jsonb_each(gone.manifest -> 'files') file
    ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at)
SELECT count(*) AS found, count(*) AS rows FROM gone

-- name: remove_model
WITH held AS (DELETE FROM engine_models WHERE model_id = %(id)s)
DELETE FROM models WHERE id = %(id)s
