-- Routes, what was decided for them, and what the value service knows of a model before it is asked.

-- name: recorded
-- Mean scores of the newest prompts of a subject in evaluations, by run: of exactly this version, or of a version 0 of one
-- of the newest 64 runs that start from it. A subject is a registered model or a version.
WITH same AS (
    SELECT v.id, v.model_id FROM versions v WHERE v.id = %(subject)s AND v.tenant_id = %(tenant)s
    UNION
    SELECT v.id, v.model_id FROM models m JOIN versions v ON v.model_id = m.id AND v.number = 0
    WHERE m.tenant_id = %(tenant)s AND (m.base_artifact_id = %(subject)s OR m.base_version_id = %(subject)s)),
evaluated AS (
    SELECT r.id AS run_id, same.id AS version_id FROM same JOIN runs r ON r.policy_model_id = same.model_id
    WHERE r.preflight IS NULL AND r.samples_deleted_at IS NULL ORDER BY r.id DESC LIMIT 64)
SELECT o.run_id, o.newest, o.mean, p.task_hash, p.text, p.features_by, p.features
FROM (
    SELECT g.run_id, g.task_hash, max(g.id) AS newest, avg(t.score ORDER BY g.id, t.index) AS mean
    FROM evaluated e JOIN groups g ON g.run_id = e.run_id AND g.purpose = 'eval' AND g.version_id = e.version_id
    JOIN trajectories t ON t.group_id = g.id
    WHERE g.kind = 'generate' AND g.state = 'used' AND t.score > '-Infinity' AND t.score < 'Infinity'
    GROUP BY g.run_id, g.task_hash) o
JOIN prompts p ON p.run_id = o.run_id AND p.task_hash = o.task_hash
ORDER BY o.newest DESC LIMIT %(most)s

-- name: recent_steps
-- The number of a version and its run, for the outcomes of the steps before it.
SELECT r.id AS run_id, v.number FROM versions v JOIN runs r ON r.policy_model_id = v.model_id
WHERE v.id = %(subject)s AND v.tenant_id = %(tenant)s AND r.preflight IS NULL AND r.samples_deleted_at IS NULL

-- name: said
-- What clients said of a subject's answers, prompt by prompt, the newest first.
SELECT d.prompt AS text, avg(f.score) AS mean, max(d.id) AS newest FROM feedback f JOIN decisions d ON d.id = f.decision_id
WHERE f.subject_id = %(subject)s AND f.tenant_id = %(tenant)s
GROUP BY d.prompt ORDER BY newest DESC LIMIT %(most)s

-- name: specs
SELECT id, spec FROM runs WHERE id = ANY (%(run_ids)s)

-- name: put
INSERT INTO routes (tenant_id, name, candidates, objective, exploration)
VALUES (%(tenant_id)s, %(name)s, %(candidates)s, %(objective)s, %(exploration)s)
ON CONFLICT (tenant_id, name) DO UPDATE SET candidates = excluded.candidates, objective = excluded.objective,
    exploration = excluded.exploration, updated_at = now()
RETURNING name, candidates, objective, exploration, created_at, updated_at, created_at = updated_at AS made

-- name: one
SELECT name, candidates, objective, exploration, created_at, updated_at FROM routes
WHERE tenant_id = %(tenant_id)s AND name = %(name)s

-- name: page
SELECT name, candidates, objective, exploration, created_at, updated_at FROM routes
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR name > %(after)s) ORDER BY name LIMIT %(limit)s

-- name: delete
DELETE FROM routes WHERE tenant_id = %(tenant_id)s AND name = %(name)s RETURNING name

-- name: forget
-- A route's decisions, with what was said of them.
DELETE FROM decisions WHERE tenant_id = %(tenant_id)s AND route = %(name)s

-- name: candidates
-- The newest registered models and ended runs, for a tenant that has made no route.
(SELECT name AS model, created_at FROM artifacts
 WHERE tenant_id = %(tenant_id)s AND kind = 'base_model' AND deleted_at IS NULL ORDER BY created_at DESC LIMIT %(most)s)
UNION ALL
(SELECT id, created_at FROM runs
 WHERE tenant_id = %(tenant_id)s AND preflight IS NULL AND deleted_at IS NULL AND state = 'succeeded'
 ORDER BY id DESC LIMIT %(most)s)
ORDER BY created_at DESC LIMIT %(most)s

-- name: decide
INSERT INTO decisions (id, tenant_id, key_id, route, prompt, model, subject_id, objective, considered, reason, explored,
    propensity)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(route)s, %(prompt)s, %(model)s, %(subject_id)s, %(objective)s,
    %(considered)s, %(reason)s, %(explored)s, %(propensity)s)

-- name: ended
UPDATE decisions SET prompt_tokens = %(prompt_tokens)s, completion_tokens = %(completion_tokens)s WHERE id = %(id)s

-- name: decisions
-- Newest first.
SELECT d.id, d.route, d.prompt, d.model, d.subject_id, d.objective, d.considered, d.reason, d.explored, d.propensity,
    d.prompt_tokens, d.completion_tokens, d.created_at, f.score, f.comment
FROM decisions d LEFT JOIN feedback f ON f.decision_id = d.id
WHERE d.tenant_id = %(tenant_id)s AND d.route = %(route)s AND (%(after)s::text IS NULL OR d.id < %(after)s)
ORDER BY d.id DESC LIMIT %(limit)s

-- name: say
INSERT INTO feedback (decision_id, tenant_id, subject_id, score, comment)
SELECT id, tenant_id, subject_id, %(score)s, %(comment)s FROM decisions WHERE id = %(id)s
ON CONFLICT (decision_id) DO UPDATE SET score = excluded.score, comment = excluded.comment, updated_at = now()
RETURNING decision_id AS id, score, comment, updated_at, xmax = 0 AS made
