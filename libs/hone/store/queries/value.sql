-- name: run_exists
SELECT id FROM runs WHERE id = %(run_id)s;

-- name: baselines
-- Running mean of each task over what committed steps trained on. Summed in the order of the requests: the same
-- outcomes give the same bits, in whatever order their rows were written.
SELECT o.task_hash, avg(o.value ORDER BY g.request_no, o.index) AS mean, count(*) AS count
FROM outcomes o
JOIN groups g ON g.id = o.group_id
JOIN steps s ON s.run_id = o.run_id AND o.group_id = ANY (s.group_ids)
WHERE o.run_id = %(run_id)s AND o.task_hash = ANY (%(task_hashes)s) AND o.purpose = 'train' AND o.state = 'used'
  AND o.value IS NOT NULL AND s.state = 'committed' AND s.n < %(before_step)s
GROUP BY o.task_hash;
