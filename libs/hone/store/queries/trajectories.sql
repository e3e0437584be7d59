-- Trajectories: one row for each sample.

-- name: page
SELECT t.group_id, t.index, g.purpose, g.request_no, g.step, g.series, g.source, g.state AS group_state, t.status, t.score,
       t.finish_reason, t.prompt_tokens, t.completion_tokens, t.preview, t.created_at
FROM trajectories t JOIN groups g ON g.id = t.group_id
WHERE t.run_id = %(run_id)s
  AND (t.group_id, t.index) > (%(after_group)s, %(after_index)s)
  AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s)
  AND (%(step)s::integer IS NULL OR g.step = %(step)s)
  AND (%(source)s::text IS NULL OR g.source = %(source)s)
  AND (%(status)s::text IS NULL OR t.status = %(status)s)
  AND (%(min_score)s::double precision IS NULL OR t.score >= %(min_score)s)
  AND (%(max_score)s::double precision IS NULL OR t.score <= %(max_score)s)
  AND (%(text)s::text IS NULL OR strpos(lower(t.preview), lower(%(text)s)) > 0)
ORDER BY t.group_id, t.index LIMIT %(limit)s

-- name: one
SELECT t.group_id, t.index, g.purpose, g.request_no, g.step, g.series, g.source, g.state AS group_state, t.status, t.score,
       t.finish_reason, t.prompt_tokens, t.completion_tokens, t.preview, t.created_at, t.part, t.row,
       (SELECT max(other.index) FROM trajectories other WHERE other.group_id = t.group_id) AS last_index
FROM trajectories t JOIN groups g ON g.id = t.group_id
WHERE t.run_id = %(run_id)s AND t.group_id = %(group_id)s AND t.index = %(index)s

-- name: add
INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,
                          finish_reason, status, score, preview)
SELECT t.group_id, t.index, %(tenant_id)s, %(run_id)s, %(part)s, t.row, t.prompt_tokens, t.completion_tokens,
    t.finish_reason, t.status, t.score, t.preview
FROM unnest(%(group_ids)b::bigint[], %(indices)b::int[], %(rows)b::int[], %(prompt_tokens)b::int[],
            %(completion_tokens)b::int[], %(finish_reasons)b::text[], %(statuses)b::text[],
            %(scores)b::double precision[], %(previews)b::text[])
    AS t (group_id, index, row, prompt_tokens, completion_tokens, finish_reason, status, score, preview)

-- name: baselines
-- The mean outcome of each task over the samples that committed steps trained on. They are summed in the order of their
-- requests: the same outcomes give the same bits, in whatever order their rows were written.
SELECT o.task_hash, avg(o.value ORDER BY g.request_no, o.index) AS mean, count(*) AS count
FROM outcomes o
JOIN groups g ON g.id = o.group_id
JOIN steps s ON s.run_id = o.run_id AND o.group_id = ANY (s.group_ids)
WHERE o.run_id = %(run_id)s AND o.task_hash = ANY (%(task_hashes)s) AND o.purpose = 'train' AND o.state = 'used'
  AND o.value IS NOT NULL AND s.state = 'committed' AND s.n >= %(since_step)s AND s.n < %(before_step)s
GROUP BY o.task_hash

-- name: outcomes
-- Each group of these tasks that committed steps trained on, in the order of requests: number, mean and variance of its
-- outcomes, how many were above the mean of their step, and how many were a success.
SELECT o.task_hash, g.request_no, s.n AS step, count(*) AS samples, avg(o.value ORDER BY o.index) AS mean,
    var_pop(o.value ORDER BY o.index) AS variance, count(*) FILTER (WHERE o.value - m.value > 1e-8) AS above,
    count(*) FILTER (WHERE o.value >= %(success)s - 1e-9) AS successes
FROM outcomes o
JOIN groups g ON g.id = o.group_id
JOIN steps s ON s.run_id = o.run_id AND o.group_id = ANY (s.group_ids)
LEFT JOIN metrics m ON m.run_id = o.run_id AND m.name = 'reward/mean' AND m.step = s.n
WHERE o.run_id = %(run_id)s AND o.task_hash = ANY (%(task_hashes)s) AND o.purpose = 'train' AND o.state = 'used'
  AND o.value IS NOT NULL AND s.state = 'committed' AND s.n >= %(since_step)s AND s.n < %(before_step)s
GROUP BY o.task_hash, g.request_no, s.n ORDER BY o.task_hash, g.request_no

-- name: success_rates
-- How often the samples of each committed step were a success: the mean over its groups.
SELECT rates.n, avg(rates.rate ORDER BY rates.request_no) AS rate
FROM (
    SELECT s.n, g.request_no, avg((o.value >= %(success)s - 1e-9)::int::double precision) AS rate
    FROM steps s
    JOIN groups g ON g.id = ANY (s.group_ids)
    JOIN outcomes o ON o.group_id = g.id
    WHERE s.run_id = %(run_id)s AND s.state = 'committed' AND s.n >= %(since_step)s AND s.n < %(before_step)s
      AND g.run_id = %(run_id)s AND g.purpose = 'train' AND g.state = 'used' AND o.value IS NOT NULL
    GROUP BY s.n, g.request_no) rates
GROUP BY rates.n ORDER BY rates.n

-- name: predicted_groups
-- The newest groups that committed steps trained on whose chance of success was predicted, with their outcomes.
SELECT latest.predicted, count(*) AS samples, avg(o.value ORDER BY o.index) AS mean
FROM (
    SELECT g.id, g.request_no, (g.order -> 'budget' ->> 'predicted')::double precision AS predicted
    FROM steps s JOIN groups g ON g.id = ANY (s.group_ids)
    WHERE s.run_id = %(run_id)s AND s.state = 'committed' AND s.n >= %(since_step)s AND s.n < %(before_step)s
      AND g.run_id = %(run_id)s AND g.purpose = 'train' AND g.state = 'used'
      AND g.order -> 'budget' ->> 'predicted' IS NOT NULL
    ORDER BY s.n DESC, g.request_no DESC LIMIT %(most)s) latest
JOIN outcomes o ON o.group_id = latest.id
WHERE o.value IS NOT NULL
GROUP BY latest.id, latest.predicted

-- name: of_groups
SELECT group_id, index, part, row, status, score FROM trajectories WHERE group_id = ANY (%(group_ids)s::bigint[])
ORDER BY group_id, index

-- name: newest
-- The samples of the newest training groups of some steps, whether or not a step has trained on them.
SELECT t.group_id, t.index, t.part, t.row, t.score, g.task_hash, g.source, g.step
FROM (
    SELECT g.id, g.task_hash, g.source, g.step, g.request_no FROM groups g
    WHERE g.run_id = %(run_id)s AND g.purpose = 'train' AND g.kind = 'generate'
      AND g.step BETWEEN %(first_step)s AND %(last_step)s
      AND EXISTS (SELECT FROM trajectories t WHERE t.group_id = g.id)
    ORDER BY g.request_no DESC LIMIT %(groups)s) g
JOIN trajectories t ON t.group_id = g.id
ORDER BY g.request_no DESC, t.index

-- name: of_steps
-- The samples of the newest groups of planned and committed steps, and of some groups beside them, newest first.
SELECT t.group_id, t.index, t.part, t.row, t.score, t.prompt_tokens + t.completion_tokens AS tokens, g.task_hash, g.source
FROM (
    SELECT g.id, g.task_hash, g.source, g.request_no FROM groups g
    WHERE g.run_id = %(run_id)s AND g.purpose = 'train' AND g.kind = 'generate' AND (g.id = ANY (%(group_ids)s::bigint[])
      OR g.id IN (SELECT unnest(s.group_ids) FROM steps s
                  WHERE s.run_id = %(run_id)s AND s.n BETWEEN %(first)s AND %(last)s))
    ORDER BY g.request_no DESC LIMIT %(most)s) g
JOIN trajectories t ON t.group_id = g.id
ORDER BY g.request_no DESC, t.index

-- name: of_noise
-- The sampled answers of one evaluation, clean ones and those under noise; without a step of the newest one with noise.
SELECT t.group_id, t.index, g.step, g.series, g.task_hash, t.score, t.completion_tokens, t.part, t.row
FROM groups g JOIN trajectories t ON t.group_id = g.id
WHERE g.run_id = %(run_id)s AND g.purpose = 'eval' AND (g.series = 'sampled' OR g.series LIKE 'noise/%%') AND g.step = coalesce(
    %(step)s, (SELECT max(n.step) FROM groups n
               WHERE n.run_id = %(run_id)s AND n.purpose = 'eval' AND n.series LIKE 'noise/%%' AND n.state = 'used'))
ORDER BY t.group_id, t.index LIMIT %(limit)s

-- name: of_memory
-- The clean answers of one evaluation to some sources of held-out tasks; without a step of the newest one that has any.
SELECT t.group_id, t.index, g.step, g.source, g.task_hash, t.score, t.part
FROM groups g JOIN trajectories t ON t.group_id = g.id
WHERE g.run_id = %(run_id)s AND g.purpose = 'eval' AND g.series = %(series)s AND g.source = ANY (%(sources)s::text[])
  AND g.step = coalesce(
    %(step)s, (SELECT max(n.step) FROM groups n
               WHERE n.run_id = %(run_id)s AND n.purpose = 'eval' AND n.series = %(series)s
                 AND n.source = ANY (%(sources)s::text[]) AND n.state = 'used'))
ORDER BY t.group_id, t.index LIMIT %(limit)s
