-- Groups: requested by the driver, claimed and made ready by rollout workers, used or dropped by steps.

-- name: request
-- The columns beside the order repeat the fields that other statements search by.
INSERT INTO groups (tenant_id, run_id, kind, series, source, deadline, purpose, request_no, step, task_hash, model_id,
                    version_id, "order")
SELECT %(tenant_id)s, %(run_id)s, %(kind)s, %(series)s, o.content ->> 'source',
    least(r.deadline, now() + make_interval(secs => %(deadline_s)s)),
    o.content ->> 'purpose', (o.content ->> 'request_no')::int, (o.content ->> 'step')::int,
    o.content ->> 'task_hash', o.content ->> 'model_id', o.content ->> 'version_id', o.content
FROM unnest(%(orders)s::json[]) AS o (content), runs r
WHERE r.id = %(run_id)s
ON CONFLICT (run_id, purpose, request_no) DO NOTHING

-- name: next_request_no
SELECT coalesce(max(request_no) + 1, 0) AS request_no FROM groups WHERE run_id = %(run_id)s AND purpose = %(purpose)s

-- name: next_task_place
-- The place of the first task of the run that no group has. Each task is requested once, to be trained on or judged.
SELECT count(*) AS place FROM groups
WHERE run_id = %(run_id)s AND purpose IN ('train', 'probe') AND kind = 'generate'

-- name: claim
-- A tenant's groups queue behind those it already has running, so the tenant with the fewest comes first. One worker
-- holds at most `most` groups of a tenant, so that those of a slow tenant leave room for others; `tenants` are those
-- whose groups it holds, and `holds` how many of each.
-- A group that was in work when a process ended because its memory was over is a suspect. It is claimed alone: by a
-- worker that holds no other, while no other suspect is claimed, and before other groups of its run. So the next end
-- shows whose fault it was, and other runs go on meanwhile.
-- `role_versions` is looked up with each claim: a role's model may be published, or published anew, after the request.
WITH running AS (
    SELECT tenant_id, count(*) AS groups FROM groups
    WHERE state = 'requested' AND claim_expires > now() GROUP BY tenant_id),
suspect AS (
    SELECT run_id, bool_or(claim_expires > now()) AS claimed FROM groups
    WHERE state = 'requested' AND memory_ends > 0 AND refused IS NULL AND deadline > now() GROUP BY run_id),
line AS (
    SELECT g.id, g.memory_ends > 0 AS alone, g.tenant_id,
        coalesce(r.groups, 0) + row_number() OVER (PARTITION BY g.tenant_id ORDER BY g.id) AS turn,
        coalesce(own.groups, 0) + row_number() OVER (PARTITION BY g.tenant_id ORDER BY g.id) AS place
    FROM groups g LEFT JOIN running r USING (tenant_id)
    LEFT JOIN unnest(%(tenants)s::text[], %(holds)s::integer[]) AS own (tenant_id, groups) USING (tenant_id)
    WHERE g.state = 'requested' AND g.deadline > now() AND g.refused IS NULL
        AND (g.claim_expires IS NULL OR g.claim_expires <= now())
        AND CASE WHEN g.memory_ends > 0 THEN NOT EXISTS (SELECT FROM suspect WHERE claimed)
            ELSE g.run_id NOT IN (SELECT run_id FROM suspect) END),
head AS (
    SELECT line.id, line.alone FROM line JOIN tenants t ON t.id = line.tenant_id
    WHERE line.turn <= t.max_running_groups AND line.place <= %(most)s ORDER BY line.turn, line.id LIMIT 1),
mine AS (
    SELECT g.id FROM groups g JOIN line USING (id) JOIN tenants t ON t.id = g.tenant_id
    WHERE line.turn <= t.max_running_groups AND line.place <= %(most)s AND g.state = 'requested'
        AND CASE WHEN (SELECT alone FROM head) THEN g.id = (SELECT id FROM head) AND cardinality(%(tenants)s::text[]) = 0
            ELSE NOT line.alone END
        AND (g.claim_expires IS NULL OR g.claim_expires <= now())
    ORDER BY line.turn, g.id LIMIT %(count)s FOR NO KEY UPDATE OF g SKIP LOCKED)
UPDATE groups g SET attempt = g.attempt + 1, claim_owner = %(owner)s, reason = NULL,
    claim_expires = now() + make_interval(secs => %(lease_s)s),
    begun = coalesce(g.begun, (
        SELECT max(v.number) FROM versions v WHERE v.model_id = g.model_id AND v.state = 'live'))
FROM mine
WHERE g.id = mine.id
RETURNING g.id, g.attempt, g.tenant_id, g.run_id, g.order, g.begun, g.memory_ends, g.waves,
    (SELECT coalesce(jsonb_object_agg(role.name, v.id), '{}')
        FROM json_each(g.order -> 'roles') AS role (name, model)
        JOIN versions v ON v.model_id = role.model ->> 'model_id' AND v.number = 0 AND v.state = 'live')
        AS role_versions,
    extract(epoch FROM g.deadline - now())::double precision AS remaining_s

-- name: blame
-- Groups that a process worked on when it ended because its memory was over. From then on each of them runs alone. One
-- that was alone already, because the same had happened before, is refused.
WITH blamed AS (
    UPDATE groups g SET memory_ends = g.memory_ends + 1, claim_expires = now(), refused = CASE WHEN g.memory_ends > 0
        THEN format('it ended two processes, %%s last: %%s', %(process)s::text, %(why)s::text) END
    FROM unnest(%(group_ids)s::bigint[], %(attempts)s::bigint[]) AS held (id, attempt)
    WHERE g.id = held.id AND g.attempt = held.attempt AND g.state = 'requested' AND g.claim_expires > now()
    RETURNING g.id, g.tenant_id, g.run_id, g.purpose, g.request_no, g.refused),
told AS (
    INSERT INTO events (tenant_id, run_id, kind, message, data)
    SELECT tenant_id, run_id, 'rollout.memory',
        format('%%s group %%s was in work when %%s ended: %%s. It is tried once more, alone', purpose, request_no,
               %(process)s::text, %(why)s::text),
        jsonb_build_object('group_id', id)
    FROM blamed WHERE refused IS NULL)
SELECT pg_notify('groups', run_id) FROM (SELECT DISTINCT run_id FROM blamed) runs

-- name: renew_claims
UPDATE groups g SET claim_expires = now() + make_interval(secs => %(lease_s)s)
FROM (
    SELECT g.id FROM groups g
    JOIN unnest(%(group_ids)s::bigint[], %(attempts)s::bigint[]) AS held (id, attempt) USING (id, attempt)
    WHERE g.state = 'requested' ORDER BY g.id FOR NO KEY UPDATE OF g) AS mine
WHERE g.id = mine.id
RETURNING g.id

-- name: release_claims
UPDATE groups g SET claim_expires = now() + make_interval(secs => %(delay_s)s)
FROM unnest(%(group_ids)s::bigint[], %(attempts)s::bigint[]) AS held (id, attempt)
WHERE g.id = held.id AND g.attempt = held.attempt AND g.state = 'requested'

-- name: release_claims_of
UPDATE groups SET claim_expires = now() WHERE claim_owner = %(owner)s AND state = 'requested' AND claim_expires > now()

-- name: set_reason
UPDATE groups g SET reason = given.reason
FROM unnest(%(group_ids)s::bigint[], %(attempts)s::bigint[], %(reasons)s::text[]) AS given (id, attempt, reason)
WHERE g.id = given.id AND g.attempt = given.attempt AND g.state = 'requested' AND g.reason IS DISTINCT FROM given.reason

-- name: refuse
UPDATE groups SET refused = %(reason)s
WHERE id = %(group_id)s AND attempt = %(attempt)s AND state = 'requested'

-- name: add_wave
-- Records a wave of samples before it is sampled. Returns no row where the claim is no longer held.
UPDATE groups SET waves = waves || %(size)s::integer
WHERE id = %(group_id)s AND attempt = %(attempt)s AND state = 'requested' AND cardinality(waves) = %(number)s
RETURNING id

-- name: make_ready
-- A group whose samples are stored needs its journal no more. The first group of a task in a run brings what the task
-- asks: `texts` are those of the groups `asked` whose task the worker has not stored yet.
WITH ready AS (
    UPDATE groups g SET state = 'ready', reason = NULL, ready_at = now(), ready_attempt = mine.by_attempt,
        claim_expires = NULL, parts = g.parts || %(part)s::text, oldest = mine.oldest
    FROM (
        SELECT g.id, held.attempt AS by_attempt,
            (SELECT min(v.number) FROM versions v
                WHERE v.id = ANY (ARRAY(SELECT jsonb_array_elements_text(held.versions)))) AS oldest
        FROM groups g
        JOIN unnest(%(group_ids)s::bigint[], %(attempts)s::bigint[], %(versions)s::jsonb[])
            AS held (id, attempt, versions) USING (id, attempt)
        WHERE g.state = 'requested' ORDER BY g.id FOR NO KEY UPDATE OF g) AS mine
    WHERE g.id = mine.id
    RETURNING g.id, g.run_id, g.tenant_id, g.task_hash, g.kind),
forgotten AS (DELETE FROM journal j USING ready WHERE j.group_id = ready.id),
prompted AS (
    INSERT INTO prompts (run_id, task_hash, tenant_id, text)
    SELECT DISTINCT ON (r.task_hash) r.run_id, r.task_hash, r.tenant_id, a.text
    FROM unnest(%(asked)s::bigint[], %(texts)s::text[]) AS a (id, text) JOIN ready r USING (id)
    WHERE r.kind = 'generate' AND a.text <> '' ORDER BY r.task_hash, r.id
    ON CONFLICT (run_id, task_hash) DO NOTHING)
SELECT id FROM ready

-- name: ready_samples
-- The samples of ready groups that no step has planned, the stalest first.
SELECT g.id AS group_id, g.request_no, g.task_hash, g.series, g.source, g.oldest, t.index, t.part, t.prompt_tokens,
    t.completion_tokens, t.finish_reason, t.status, t.score, r.id AS grade_id
FROM groups g
JOIN trajectories t ON t.group_id = g.id
LEFT JOIN LATERAL (
    SELECT id FROM grades r WHERE r.group_id = t.group_id AND r.index = t.index AND r.component = ''
        AND r.regrade_no = 0
    ORDER BY id LIMIT 1) r ON true
WHERE g.run_id = %(run_id)s AND g.purpose = %(purpose)s AND g.kind = %(kind)s AND g.state = 'ready'
    AND g.step <= %(step)s
    AND NOT EXISTS (
        SELECT FROM steps s WHERE s.run_id = g.run_id AND s.state = 'planned' AND g.id = ANY (s.group_ids))
ORDER BY g.oldest, g.request_no, t.index

-- name: budgets
-- What was expected of groups, and how the number of their samples was decided.
SELECT g.id AS group_id, g.order -> 'budget' AS budget FROM groups g WHERE g.id = ANY (%(group_ids)s)

-- name: sampled
-- What a sampler knew of the tasks of groups when it drew them.
SELECT g.id AS group_id, g.order -> 'sampled' AS sampled FROM groups g WHERE g.id = ANY (%(group_ids)s)

-- name: count_refused
SELECT count(*) AS groups FROM groups
WHERE run_id = %(run_id)s AND purpose = %(purpose)s AND step = %(step)s AND state = 'dropped' AND refused IS NOT NULL

-- name: count_expired
SELECT count(*) AS groups FROM groups WHERE run_id = %(run_id)s AND state = 'dropped' AND reason = 'expired'

-- name: evaluation_times
SELECT min(created_at) AS requested_at, max(ended_at) AS recorded_at, count(*) AS groups
FROM groups WHERE run_id = %(run_id)s AND purpose = 'eval' AND step = %(n)s AND state = 'used'
HAVING count(*) > 0

-- name: use
UPDATE groups SET state = 'used', ended_at = now() WHERE id = ANY(%(group_ids)s) AND state = 'ready'

-- name: use_planned
UPDATE groups g SET state = 'used', ended_at = now()
FROM steps s JOIN runs r ON r.id = s.run_id
WHERE s.run_id = %(run_id)s AND s.n = %(n)s AND r.policy_model_id = %(model_id)s
    AND g.id = ANY(s.group_ids) AND g.run_id = s.run_id AND g.state = 'ready'

-- name: drop
UPDATE groups SET state = 'dropped', reason = %(reason)s, ended_at = now()
WHERE id = ANY(%(group_ids)s) AND state IN ('requested', 'ready')

-- name: drop_open
UPDATE groups SET state = 'dropped', reason = %(reason)s, ended_at = now()
WHERE run_id = %(run_id)s AND state IN ('requested', 'ready')

-- name: drop_surplus
-- The training groups of a stage that is over.
UPDATE groups SET state = 'dropped', reason = 'surplus', ended_at = now()
WHERE run_id = %(run_id)s AND purpose = 'train' AND state IN ('requested', 'ready')

-- name: drop_refused
UPDATE groups g SET state = 'dropped', reason = 'failed', ended_at = now()
WHERE run_id = %(run_id)s AND state = 'requested' AND refused IS NOT NULL AND kind = 'generate'
    AND refused_for_itself(g)
RETURNING g.id, g.purpose, g.request_no, g.step, g.refused

-- name: expire
-- Requested groups past their deadline, and ready groups that a version older than `oldest` sampled. Each is returned
-- with the reason why it waited last, if that is known.
WITH gone AS (
    SELECT g.id, coalesce(g.reason, CASE WHEN g.attempt = 0 THEN 'no rollout worker took it' END) AS waited_for
    FROM groups g WHERE run_id = %(run_id)s AND purpose = %(purpose)s AND (
        state = 'requested' AND deadline <= now()
        OR state = 'ready' AND oldest < %(oldest)s AND NOT EXISTS (
            SELECT FROM steps s WHERE s.run_id = g.run_id AND s.state = 'planned' AND g.id = ANY (s.group_ids)))
    ORDER BY g.id FOR NO KEY UPDATE OF g)
UPDATE groups g SET state = 'dropped', reason = 'expired', ended_at = now()
FROM gone WHERE g.id = gone.id
RETURNING g.id, g.request_no, g.ready_at, g.source, gone.waited_for

-- name: stored
-- Groups of a run whose samples are stored, in the order of their ids.
SELECT g.id, g.order -> 'harness' AS harness, g.order -> 'harness_params' AS harness_params FROM groups g
WHERE g.run_id = %(run_id)s AND g.id > %(after)s AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s)
  AND EXISTS (SELECT FROM trajectories t WHERE t.group_id = g.id)
ORDER BY g.id LIMIT %(limit)s
