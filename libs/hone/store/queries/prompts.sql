-- Prompts: what tasks ask, and their features, from which the value service predicts success. groups.make_ready adds them.

-- name: context_of_steps
-- The newest `most` prompts that committed steps trained on, but for those that are asked about, each with the mean
-- outcome of its newest group. Scores never change once they are stored, so the same steps give the same rows.
SELECT * FROM (
    SELECT DISTINCT ON (o.task_hash) o.task_hash, o.n AS step, o.request_no, o.mean, o.samples,
        p.text, p.features_by, p.features
    FROM (
        SELECT g.task_hash, s.n, g.request_no, avg(t.score ORDER BY t.index) AS mean, count(*) AS samples
        FROM steps s JOIN groups g ON g.id = ANY (s.group_ids) JOIN trajectories t ON t.group_id = g.id
        WHERE s.run_id = %(run_id)s AND s.state = 'committed' AND s.n >= %(since_step)s AND s.n < %(before_step)s
            AND g.purpose = 'train' AND g.kind = 'generate' AND g.state = 'used'
            AND t.score > '-Infinity' AND t.score < 'Infinity'
        GROUP BY g.task_hash, s.n, g.request_no) o
    JOIN prompts p ON p.run_id = %(run_id)s AND p.task_hash = o.task_hash
    WHERE o.task_hash <> ALL (%(asked)s::text[])
    ORDER BY o.task_hash, o.n DESC, o.request_no DESC) newest
ORDER BY step DESC, request_no DESC LIMIT %(most)s

-- name: context_of_version
-- The same over all recorded groups of a run that exactly this version sampled, evaluations included: all samples of a
-- prompt are averaged.
SELECT o.task_hash, 0 AS step, o.newest AS request_no, o.mean, o.samples, p.text, p.features_by, p.features
FROM (
    SELECT g.task_hash, max(g.id) AS newest, avg(t.score ORDER BY g.id, t.index) AS mean, count(*) AS samples
    FROM groups g JOIN trajectories t ON t.group_id = g.id
    WHERE g.run_id = %(run_id)s AND g.version_id = %(version_id)s AND g.kind = 'generate' AND g.state = 'used'
        AND t.score > '-Infinity' AND t.score < 'Infinity'
    GROUP BY g.task_hash) o
JOIN prompts p ON p.run_id = %(run_id)s AND p.task_hash = o.task_hash
WHERE o.task_hash <> ALL (%(asked)s::text[])
ORDER BY o.newest DESC LIMIT %(most)s

-- name: texts
SELECT task_hash, text, features_by, features FROM prompts
WHERE run_id = %(run_id)s AND task_hash = ANY (%(task_hashes)s::text[])

-- name: keep_features
UPDATE prompts p SET features_by = %(by)s, features = made.features
FROM unnest(%(task_hashes)s::text[], %(features)s::bytea[]) AS made (task_hash, features)
WHERE p.run_id = %(run_id)s AND p.task_hash = made.task_hash AND p.features_by IS DISTINCT FROM %(by)s

-- name: outcomes
-- Recorded groups of a run with a score, in the order of their ids.
SELECT g.id, g.purpose, g.step, g.series, g.source, g.task_hash, g.version_id, found.samples, found.score,
    p.text AS prompt
FROM groups g
JOIN LATERAL (
    SELECT count(*) AS samples, avg(t.score ORDER BY t.index) AS score FROM trajectories t
    WHERE t.group_id = g.id AND t.score > '-Infinity' AND t.score < 'Infinity') found ON found.samples > 0
LEFT JOIN prompts p ON p.run_id = g.run_id AND p.task_hash = g.task_hash
WHERE g.run_id = %(run_id)s AND g.id > %(after)s AND g.state = 'used' AND g.kind = 'generate'
  AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s) AND (%(step)s::integer IS NULL OR g.step = %(step)s)
  AND (%(task_hash)s::text IS NULL OR g.task_hash = %(task_hash)s)
  AND (%(version_id)s::text IS NULL OR g.version_id = %(version_id)s)
ORDER BY g.id LIMIT %(limit)s

-- name: asked
-- The tasks of recorded groups of a run, each once.
SELECT DISTINCT g.task_hash FROM groups g
WHERE g.run_id = %(run_id)s AND g.state = 'used' AND g.kind = 'generate'
  AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s) AND (%(step)s::integer IS NULL OR g.step = %(step)s)
  AND (%(version_id)s::text IS NULL OR g.version_id = %(version_id)s)
ORDER BY g.task_hash

-- name: newest_outcomes
-- The newest recorded group with a score of each of these tasks.
SELECT DISTINCT ON (g.task_hash) g.id, g.purpose, g.step, g.series, g.source, g.task_hash, g.version_id, found.samples,
    found.score, p.text AS prompt
FROM groups g
JOIN LATERAL (
    SELECT count(*) AS samples, avg(t.score ORDER BY t.index) AS score FROM trajectories t
    WHERE t.group_id = g.id AND t.score > '-Infinity' AND t.score < 'Infinity') found ON found.samples > 0
JOIN prompts p ON p.run_id = g.run_id AND p.task_hash = g.task_hash
WHERE g.run_id = %(run_id)s AND g.state = 'used' AND g.kind = 'generate' AND g.task_hash = ANY (%(task_hashes)s::text[])
  AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s) AND (%(step)s::integer IS NULL OR g.step = %(step)s)
  AND (%(version_id)s::text IS NULL OR g.version_id = %(version_id)s)
ORDER BY g.task_hash, g.id DESC
