-- Steps: added by the driver, committed by the trainer.

-- name: add
INSERT INTO steps (run_id, tenant_id, n, epoch, plan, group_ids, dropped_ids, traceparent)
VALUES (%(run_id)s, %(tenant_id)s, %(n)s, %(epoch)s, %(plan)s, %(group_ids)s, %(dropped_ids)s, %(traceparent)s)

-- name: plan
-- With the version that the step trains.
SELECT s.plan, s.group_ids, v.id AS version_id FROM steps s JOIN runs r ON r.id = s.run_id
LEFT JOIN versions v ON v.model_id = r.policy_model_id AND v.number = %(n)s - 1 AND v.state = 'live'
WHERE s.run_id = %(run_id)s AND s.n = %(n)s AND r.policy_model_id = %(model_id)s

-- name: plan_of_group
SELECT s.plan FROM steps s
WHERE s.run_id = %(run_id)s AND s.state = 'committed' AND s.group_ids @> ARRAY[%(group_id)s]::bigint[]

-- name: slot_states
-- The state after the last step, from `first` to `n`, that trained on the run's own tasks.
SELECT plan -> 'state' AS states FROM steps
WHERE run_id = %(run_id)s AND n BETWEEN %(first)s AND %(n)s AND coalesce(plan ->> 'kind', 'generate') = 'generate'
ORDER BY n DESC LIMIT 1

-- name: times
SELECT coalesce((SELECT min(g.created_at) FROM groups g WHERE g.id = ANY (s.group_ids)), s.planned_at) AS requested_at,
    s.committed_at, cardinality(s.group_ids) AS groups
FROM steps s WHERE s.run_id = %(run_id)s AND s.n = %(n)s AND s.state = 'committed'

-- name: commit
UPDATE steps s SET state = 'committed', version_id = %(version_id)s, committed_at = now()
FROM runs r WHERE r.id = s.run_id AND r.policy_model_id = %(model_id)s
    AND s.run_id = %(run_id)s AND s.n = %(n)s AND s.state = 'planned'

-- name: replace_version
UPDATE steps SET version_id = %(version_id)s WHERE version_id = %(old_version_id)s

-- name: cancel
UPDATE steps SET state = 'cancelled' WHERE run_id = %(run_id)s AND state = 'planned'
