-- Runs, their leases, and the views of them.

-- name: add
INSERT INTO runs (id, tenant_id, key_id, name, spec, spec_sha, budget, policy_model_id, roles, preflight, traceparent,
                  deadline)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(name)s, %(spec)s, %(spec_sha)s, %(budget)s, %(model_id)s, %(roles)s,
        %(preflight)s, %(traceparent)s, now() + make_interval(secs => %(deadline_s)s))

-- name: owned
SELECT id FROM runs WHERE id = ANY (%(ids)s) AND tenant_id = %(tenant_id)s

-- name: page
SELECT r.id, r.name, r.state, r.desired, r.reason, waits_for(r) AS waiting_for, r.policy_model_id AS model_id,
       r.created_at, r.started_at, r.ended_at, r.deadline, (r.spec ->> 'steps')::integer AS steps,
       (r.spec ->> 'seed')::integer AS seed, r.spec -> 'model' ->> 'base' AS base,
       r.spec -> 'algorithm' ->> 'preset' AS algorithm,
       (SELECT m.value FROM metrics m WHERE m.run_id = r.id AND m.name = 'reward/mean'
        ORDER BY m.step DESC LIMIT 1) AS reward,
       coalesce((SELECT s.n FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
        ORDER BY s.n DESC LIMIT 1), 0) AS step,
       (SELECT sum(s.bytes)::bigint FROM stored_sizes s
        WHERE s.owner_id = ANY (ARRAY[r.id, r.policy_model_id] || ARRAY(SELECT value FROM jsonb_each_text(r.roles))))
        AS bytes,
       (SELECT v.id FROM versions v WHERE v.model_id = r.policy_model_id AND v.state = 'live'
        ORDER BY v.number DESC LIMIT 1) AS version_id
FROM runs r
WHERE r.preflight IS NULL AND r.deleted_at IS NULL AND (%(state)s::text IS NULL OR r.state = %(state)s)
  AND (%(after)s::text IS NULL OR r.id < %(after)s)
  AND (%(like)s::text IS NULL OR r.spec - 'seed' - 'name' - 'budget' = (
        SELECT o.spec - 'seed' - 'name' - 'budget' FROM runs o WHERE o.id = %(like)s))
  AND (%(base)s::text[] IS NULL OR r.spec -> 'model' ->> 'base' = ANY (%(base)s))
  AND (%(search)s::text IS NULL OR strpos(lower(r.name), lower(%(search)s)) > 0
    OR strpos(r.id, lower(%(search)s)) > 0 OR strpos(lower(r.spec -> 'model' ->> 'base'), lower(%(search)s)) > 0)
ORDER BY r.id DESC LIMIT %(limit)s

-- name: detail
-- With the newest value of each metric. The names are read by steps through the index, not from every step's row.
SELECT r.id, r.name, CASE WHEN r.deleted_at IS NULL THEN r.state ELSE 'deleting' END AS state, r.desired, r.reason,
       waits_for(r) AS waiting_for, r.policy_model_id AS model_id, r.roles, r.spec,
       r.created_at, r.started_at, r.ended_at, r.deadline, (r.spec ->> 'steps')::integer AS steps,
       (r.spec ->> 'seed')::integer AS seed, r.spec -> 'model' ->> 'base' AS base,
       r.spec -> 'algorithm' ->> 'preset' AS algorithm,
       (SELECT m.value FROM metrics m WHERE m.run_id = r.id AND m.name = 'reward/mean'
        ORDER BY m.step DESC LIMIT 1) AS reward,
       coalesce((SELECT s.n FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
        ORDER BY s.n DESC LIMIT 1), 0) AS step,
       (SELECT sum(s.bytes)::bigint FROM stored_sizes s
        WHERE s.owner_id = ANY (ARRAY[r.id, r.policy_model_id] || ARRAY(SELECT value FROM jsonb_each_text(r.roles))))
        AS bytes,
       (SELECT v.id FROM versions v WHERE v.model_id = r.policy_model_id AND v.state = 'live'
        ORDER BY v.number DESC LIMIT 1) AS version_id,
       r.budget,
       (SELECT coalesce(sum(c.cost), 0) FROM costs c WHERE c.tenant_id = r.tenant_id AND c.run_id = r.id) AS cost,
       (SELECT currency FROM prices ORDER BY since DESC LIMIT 1) AS currency,
       (WITH RECURSIVE named AS (
            (SELECT m.name FROM metrics m WHERE m.run_id = %(run_id)s ORDER BY m.name LIMIT 1)
            UNION ALL
            SELECT (SELECT m.name FROM metrics m WHERE m.run_id = %(run_id)s AND m.name > named.name
                    ORDER BY m.name LIMIT 1) FROM named WHERE named.name IS NOT NULL)
        SELECT coalesce(jsonb_object_agg(named.name, latest.value), '{}') FROM named, LATERAL (
            SELECT m.value FROM metrics m WHERE m.run_id = %(run_id)s AND m.name = named.name
            ORDER BY m.step DESC LIMIT 1) latest) AS metrics,
       ARRAY(SELECT e.message FROM events e WHERE e.run_id = r.id
             AND e.kind IN ('bad_rows', 'bad_references', 'references_unchecked', 'long_rows', 'equal_pairs',
                            'truncated_samples', 'few_samples', 'reasoner_gap')
             AND NOT (e.kind = 'truncated_samples' AND EXISTS (
                SELECT FROM events l WHERE l.run_id = e.run_id AND l.kind = 'whole_answers'
                    AND l.data ->> 'of' = e.data ->> 'of'))
             ORDER BY e.id) AS warnings
FROM runs r WHERE r.id = %(run_id)s

-- name: state
SELECT id, name, CASE WHEN deleted_at IS NULL THEN state ELSE 'deleting' END AS state, desired, reason,
    waits_for(runs) AS waiting_for, policy_model_id
FROM runs WHERE id = %(run_id)s

-- name: exists
SELECT id FROM runs WHERE id = %(run_id)s

-- name: count_by_state
SELECT state, count(*)::integer AS runs FROM runs WHERE preflight IS NULL AND deleted_at IS NULL GROUP BY state

-- name: set_desired
UPDATE runs SET desired = %(desired)s
WHERE id = %(run_id)s AND deleted_at IS NULL AND state IN ('queued', 'running', 'paused')
    AND (desired <> 'cancel' OR %(desired)s = 'cancel')

-- name: set_budget
UPDATE runs SET budget = %(budget)s WHERE id = %(run_id)s AND deleted_at IS NULL

-- name: limits
-- The budget of a run and what it has cost. Without a budget that is not summed up.
SELECT r.budget, CASE WHEN r.budget IS NOT NULL THEN (
    SELECT coalesce(sum(c.cost), 0) FROM costs c WHERE c.tenant_id = r.tenant_id AND c.run_id = r.id) END AS cost
FROM runs r WHERE r.id = %(run_id)s

-- name: lock_leases
-- Drivers lease one by one: each counts the runs that the one before has begun.
SELECT pg_advisory_xact_lock(hashtext('leases of runs'))

-- name: lease
-- The tenant with the fewest runs in drivers comes first. A driver that left its first turn of the run unfinished was
-- taken down by the run, unless the database was started again since: then the whole machine may have been.
-- Without `room`, only a run is leased that is about to end: that needs no place.
WITH held AS (
    SELECT tenant_id, count(*) AS runs FROM runs
    WHERE state IN ('running', 'paused') AND lease_expires > now() GROUP BY tenant_id)
UPDATE runs SET lease_owner = %(owner)s, lease_epoch = lease_epoch + 1,
    lease_expires = now() + make_interval(secs => %(lease_s)s),
    takedowns = takedowns + (coalesce(turn_begun > pg_postmaster_start_time(), false))::integer, turn_begun = NULL,
    state = CASE state WHEN 'queued' THEN 'running' ELSE state END,
    started_at = coalesce(started_at, now())
WHERE id = (
    SELECT r.id FROM runs r LEFT JOIN held USING (tenant_id)
    WHERE r.state IN ('queued', 'running', 'paused') AND (r.lease_expires IS NULL OR r.lease_expires <= now())
        AND awaited_place(r) IS NULL AND (%(room)s OR r.desired = 'cancel' OR r.deadline <= now())
    ORDER BY r.desired <> 'cancel', coalesce(held.runs, 0), r.created_at, r.id LIMIT 1
    FOR NO KEY UPDATE OF r SKIP LOCKED)
RETURNING id, tenant_id, spec, policy_model_id, roles, preflight, lease_epoch, traceparent, takedowns, waiting_for

-- name: give_way
-- Where a tenant waits that has at least two runs fewer in drivers than another, the newest run of the tenant with the
-- most leaves its driver. The new epoch keeps its thread from writing anything more.
WITH held AS (
    SELECT tenant_id, count(*) AS runs FROM runs
    WHERE state IN ('running', 'paused') AND lease_expires > now() GROUP BY tenant_id),
waiting AS (
    SELECT min(coalesce(held.runs, 0)) AS runs FROM runs r LEFT JOIN held USING (tenant_id)
    WHERE r.state IN ('queued', 'running', 'paused') AND (r.lease_expires IS NULL OR r.lease_expires <= now())
        AND awaited_place(r) IS NULL)
UPDATE runs SET lease_epoch = lease_epoch + 1, lease_expires = now(), turn_begun = NULL, waiting_for = NULL
WHERE id = (
    SELECT r.id FROM runs r JOIN held USING (tenant_id), waiting
    WHERE r.lease_owner = %(owner)s AND r.state IN ('running', 'paused') AND r.lease_expires > now()
        AND r.desired <> 'cancel' AND held.runs > waiting.runs + 1
    ORDER BY held.runs DESC, r.created_at DESC, r.id DESC LIMIT 1 FOR NO KEY UPDATE OF r)
RETURNING id

-- name: begin_turn
UPDATE runs SET turn_begun = now() WHERE id = %(run_id)s AND lease_epoch = %(epoch)s

-- name: end_turn
-- A turn that came to its end proves that the run takes no driver down.
UPDATE runs SET turn_begun = NULL, takedowns = CASE WHEN %(finished)s THEN 0 ELSE takedowns END
WHERE id = %(run_id)s AND lease_epoch = %(epoch)s

-- name: wanted
SELECT desired, deadline <= now() AND (state <> 'paused' OR reason IS NULL) AS past_deadline FROM runs
WHERE id = %(run_id)s AND lease_epoch = %(epoch)s AND state IN ('running', 'paused')

-- name: renew_lease
UPDATE runs SET lease_expires = now() + make_interval(secs => %(lease_s)s)
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('running', 'paused')

-- name: fence
SELECT id FROM runs
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('running', 'paused') FOR NO KEY UPDATE

-- name: release_lease
UPDATE runs SET lease_expires = now(), turn_begun = NULL
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('queued', 'running', 'paused')

-- name: release_leases
UPDATE runs SET lease_expires = now() WHERE lease_owner = %(owner)s AND state IN ('queued', 'running', 'paused')

-- name: overview
-- The steps and the open groups are read by one statement: a step that is committed between two of them would be missing
-- in one and its groups in the other, and as many groups too many would be requested.
SELECT r.desired, r.state, r.reason, r.stage, r.waiting_for,
    r.deadline <= now() AND (r.state <> 'paused' OR r.reason IS NULL) AS past_deadline, last.committed, last.planned,
    (SELECT id FROM versions v
        WHERE v.model_id = r.policy_model_id AND v.number = last.committed AND v.state = 'live') AS version_id,
    ARRAY(SELECT role FROM jsonb_each_text(r.roles) AS named (role, model_id) WHERE NOT EXISTS (
        SELECT FROM versions v WHERE v.model_id = named.model_id AND v.number = 0 AND v.state = 'live')
        ORDER BY role) AS unpublished,
    (SELECT o.waiting_for FROM operations o WHERE o.state = 'queued' AND o.model_id IN (
            SELECT r.policy_model_id UNION ALL SELECT value FROM jsonb_each_text(r.roles))
        ORDER BY o.waiting_for LIMIT 1) AS trainer_waits,
    coalesce((SELECT jsonb_object_agg(name, jsonb_build_object('version', version, 'state', state))
        FROM (SELECT DISTINCT ON (name) name, version, state FROM collections c WHERE c.run_id = r.id
            ORDER BY name, version DESC) AS newest), '{}') AS collected,
    (SELECT coalesce(json_agg(open), '[]') FROM (
        SELECT purpose, step, count(*) AS total, count(*) FILTER (WHERE state = 'requested') AS requested,
            count(*) FILTER (WHERE state = 'ready') AS ready,
            count(*) FILTER (WHERE state = 'requested' AND (claim_expires IS NULL OR claim_expires <= now()))
                AS unclaimed,
            count(*) FILTER (WHERE state = 'requested' AND deadline <= now()) AS late,
            min(begun) FILTER (WHERE state = 'requested') AS begun,
            min(oldest) FILTER (WHERE state = 'ready' AND NOT EXISTS (SELECT FROM steps s
                WHERE s.run_id = g.run_id AND s.state = 'planned' AND g.id = ANY (s.group_ids))) AS oldest,
            max(reason) FILTER (WHERE state = 'requested') AS reason,
            count(*) FILTER (WHERE state = 'requested' AND refused IS NOT NULL AND kind = 'generate'
                AND refused_for_itself(g)) AS refused
        FROM groups g WHERE g.run_id = r.id AND state IN ('requested', 'ready') GROUP BY purpose, step) AS open)
        AS open_groups,
    coalesce(
        (SELECT reason FROM operations o WHERE o.model_id = r.policy_model_id AND o.state = 'failed'
            AND o.kind <> 'export' ORDER BY seq LIMIT 1),
        (SELECT format('the %%s''s model: %%s', role, o.reason) FROM jsonb_each_text(r.roles) AS named (role, model_id)
            JOIN operations o USING (model_id) WHERE o.state = 'failed' ORDER BY role, seq LIMIT 1),
        (SELECT format('%%s group %%s: %%s', purpose, request_no, refused) FROM groups g
            WHERE g.run_id = r.id AND g.state = 'requested' AND g.refused IS NOT NULL
                AND (g.kind <> 'generate' OR refused_for_good(g))
            ORDER BY g.id LIMIT 1)) AS failure
FROM runs r, LATERAL (
    SELECT coalesce((SELECT n FROM steps s WHERE s.run_id = r.id AND s.state = 'committed'
            ORDER BY n DESC LIMIT 1), 0) AS committed,
        coalesce((SELECT max(n) FROM steps s WHERE s.run_id = r.id), 0) AS planned) AS last
WHERE r.id = %(run_id)s AND r.lease_epoch = %(epoch)s

-- name: of_model
-- A run that trains this model: the state of its step, and whether a version has this number.
SELECT s.state AS step, EXISTS (
    SELECT FROM versions v WHERE v.model_id = r.policy_model_id AND v.number = %(number)s AND v.state = 'live') AS taken
FROM runs r LEFT JOIN steps s ON s.run_id = r.id AND s.n = %(step)s
WHERE r.id = %(run_id)s AND r.tenant_id = %(tenant_id)s AND r.policy_model_id = %(model_id)s

-- name: billed
-- The run with this id, or that trains the model with this id.
SELECT id FROM runs WHERE id = %(subject)s OR policy_model_id = %(subject)s LIMIT 1

-- name: named_models
-- The policy of a run and the models beside it, and how many tokens each can read, as the artifact of its base says.
SELECT named.role, named.model_id, (
    WITH RECURSIVE line AS (
        SELECT m.base_artifact_id, m.base_version_id FROM models m WHERE m.id = named.model_id
        UNION ALL
        SELECT m.base_artifact_id, m.base_version_id FROM line
        JOIN versions b ON b.id = line.base_version_id JOIN models m ON m.id = b.model_id)
    SELECT (a.manifest ->> 'max_positions')::integer
    FROM line JOIN artifacts a ON a.id = line.base_artifact_id) AS max_positions
FROM runs r, LATERAL (
    SELECT 'policy', r.policy_model_id UNION ALL SELECT * FROM jsonb_each_text(r.roles)) AS named (role, model_id)
WHERE r.id = %(run_id)s

-- name: set_state
-- The time for which a limit paused the run does not count for its deadline.
UPDATE runs SET state = %(state)s, reason = %(reason)s, waiting_for = NULL,
    deadline = deadline + CASE WHEN state = 'paused' AND reason IS NOT NULL AND %(state)s = 'running'
        THEN now() - (SELECT max(lower(rest)) FROM unnest(rests) rest) ELSE interval '0' END,
    rests = CASE WHEN %(state)s <> 'paused' THEN rests * tstzmultirange(tstzrange(NULL, now()))
        WHEN state <> 'paused' THEN rests + tstzmultirange(tstzrange(now(), NULL)) ELSE rests END,
    ended_at = CASE WHEN %(state)s IN ('succeeded', 'failed', 'cancelled') THEN now() END
WHERE id = %(run_id)s AND lease_epoch = %(epoch)s

-- name: set_waiting_for
UPDATE runs SET waiting_for = %(waiting_for)s
WHERE id = %(run_id)s AND lease_epoch = %(epoch)s AND waiting_for IS DISTINCT FROM %(waiting_for)s

-- name: begin_stage
UPDATE runs SET stage = %(stage)s WHERE id = %(run_id)s AND lease_epoch = %(epoch)s

-- name: lock_row
SELECT id FROM runs WHERE id = %(run_id)s FOR UPDATE
