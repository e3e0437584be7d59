-- Evaluations whose tasks are those of a benchmark. Tasks are known by their content hash.

-- name: runs
-- The newest runs that name the environment, and the version that each starts from.
SELECT r.id, r.name, r.spec, b.number AS base_number, o.id AS base_run
FROM runs r JOIN models m ON m.id = r.policy_model_id
LEFT JOIN versions b ON b.id = m.base_version_id LEFT JOIN runs o ON o.policy_model_id = b.model_id
WHERE r.preflight IS NULL AND r.deleted_at IS NULL AND (%(run_id)s::text IS NULL OR r.id = %(run_id)s)
  AND jsonb_path_exists(r.spec, '$.**.environment ? (@ == $name)', jsonb_build_object('name', %(environment)s::text))
ORDER BY r.id DESC LIMIT %(limit)s

-- name: answers
-- Answers of one series to these tasks: of an evaluation after a step; without one of each run's newest; or of all.
SELECT g.run_id, g.step, g.task_hash, g.id AS group_id, g.created_at, g.ready_at, t.index, t.score, t.prompt_tokens,
       t.completion_tokens
FROM groups g JOIN trajectories t ON t.group_id = g.id
WHERE g.run_id = ANY (%(run_ids)s) AND g.purpose = 'eval' AND g.state = 'used' AND g.series = %(series)s
  AND g.task_hash = ANY (%(tasks)s)
  AND (%(every)s OR g.step = coalesce(%(step)s, (
    SELECT max(n.step) FROM groups n
    WHERE n.run_id = g.run_id AND n.purpose = 'eval' AND n.state = 'used' AND n.series = %(series)s
      AND n.task_hash = ANY (%(tasks)s))))
ORDER BY g.run_id DESC, g.step DESC, g.id, t.index LIMIT %(limit)s
