-- name: release_claims_of
UPDATE groups SET claim_expires = now() WHERE claim_owner = %(owner)s AND state = 'requested' AND claim_expires > now()

-- name: claim
-- A tenant's turn is its place in line behind what it already has running: whoever has least comes first.
WITH running AS (
    SELECT tenant_id, count(*) AS groups FROM groups
    WHERE state = 'requested' AND claim_expires > now() GROUP BY tenant_id),
line AS (
    SELECT g.id, coalesce(r.groups, 0) + row_number() OVER (PARTITION BY g.tenant_id ORDER BY g.id) AS turn
    FROM groups g LEFT JOIN running r USING (tenant_id)
    WHERE g.state = 'requested' AND g.deadline > now() AND g.refused IS NULL
        AND (g.claim_expires IS NULL OR g.claim_expires <= now())),
mine AS (
    SELECT g.id FROM groups g JOIN line USING (id) JOIN tenants t ON t.id = g.tenant_id
    WHERE line.turn <= t.max_running_groups AND g.state = 'requested'
        AND (g.claim_expires IS NULL OR g.claim_expires <= now())
    ORDER BY line.turn, g.id LIMIT %(count)s FOR NO KEY UPDATE OF g SKIP LOCKED)
UPDATE groups g SET attempt = g.attempt + 1, claim_owner = %(owner)s, reason = NULL,
    claim_expires = now() + make_interval(secs => %(lease_s)s),
    begun = coalesce(g.begun, (
        SELECT max(v.number) FROM versions v WHERE v.model_id = g.model_id AND v.state = 'live'))
FROM mine
WHERE g.id = mine.id
RETURNING g.id, g.attempt, g.tenant_id, g.run_id, g.order, g.begun,
    (SELECT coalesce(jsonb_object_agg(role.name, v.id), '{}')
        FROM jsonb_each(g.order -> 'roles') AS role (name, model)
        JOIN versions v ON v.model_id = role.model ->> 'model_id' AND v.number = 0 AND v.state = 'live')
        AS role_versions,
    extract(epoch FROM g.deadline - now())::double precision AS remaining_s

-- name: journaled_calls
SELECT group_id, call, body FROM journal WHERE group_id = ANY(%(group_ids)s::bigint[])

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

-- name: explain
UPDATE groups g SET reason = told.reason
FROM unnest(%(group_ids)s::bigint[], %(attempts)s::bigint[], %(reasons)s::text[]) AS told (id, attempt, reason)
WHERE g.id = told.id AND g.attempt = told.attempt AND g.state = 'requested' AND g.reason IS DISTINCT FROM told.reason

-- name: refuse
UPDATE groups SET refused = %(reason)s
WHERE id = %(group_id)s AND attempt = %(attempt)s AND state = 'requested'

-- name: journal_calls
-- Returns the groups that are still their claimant's; the lock keeps them so until the calls are in. A row holds the
-- calls of one number that samples finished together, under the lowest of their indices.
WITH held AS (
    SELECT g.id, g.attempt FROM groups g
    JOIN (SELECT DISTINCT id, attempt FROM unnest(%(group_ids)b::bigint[], %(attempts)b::bigint[]) AS c (id, attempt)) c
        USING (id, attempt)
    WHERE g.state = 'requested' ORDER BY g.id FOR SHARE OF g),
kept AS (
    INSERT INTO journal (group_id, index, call, attempt, body)
    SELECT held.id, c.index, c.call, held.attempt, c.body
    FROM unnest(%(group_ids)b::bigint[], %(indices)b::int[], %(calls)b::int[], %(bodies)b::bytea[])
        AS c (id, index, call, body)
    JOIN held USING (id)
    ON CONFLICT (group_id, index, call) DO NOTHING)
SELECT id FROM held

-- name: make_ready
-- What is stored whole needs no journal any more.
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
    RETURNING g.id),
forgotten AS (DELETE FROM journal j USING ready WHERE j.group_id = ready.id)
SELECT id FROM ready

-- name: index_trajectories
INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,
                          finish_reason, status, score, preview)
SELECT t.group_id, t.index, %(tenant_id)s, %(run_id)s, %(part)s, t.row, t.prompt_tokens, t.completion_tokens,
    t.finish_reason, t.status, t.score, t.preview
FROM unnest(%(group_ids)b::bigint[], %(indices)b::int[], %(rows)b::int[], %(prompt_tokens)b::int[],
            %(completion_tokens)b::int[], %(finish_reasons)b::text[], %(statuses)b::text[],
            %(scores)b::double precision[], %(previews)b::text[])
    AS t (group_id, index, row, prompt_tokens, completion_tokens, finish_reason, status, score, preview)

-- name: notify
SELECT pg_notify('groups', %(run_id)s)

-- name: record_event
INSERT INTO events (tenant_id, run_id, kind, message, data)
VALUES (%(tenant_id)s, %(run_id)s, %(kind)s, %(message)s, %(data)s)

-- name: engines
-- `refusing`: models whose newest version it refuses. `busy`: models it holds that a running run samples or asks; what
-- else it holds goes when it needs the room.
SELECT e.id, e.address, e.kind, e.build,
    coalesce(array_agg(m.model_id) FILTER (WHERE m.version_id IS NOT NULL), '{}') AS models,
    coalesce(array_agg(m.model_id) FILTER (WHERE m.refused_version_id = (
        SELECT v.id FROM versions v WHERE v.model_id = m.model_id AND v.state = 'live'
        ORDER BY v.number DESC, v.seq DESC LIMIT 1)), '{}') AS refusing,
    count(*) FILTER (WHERE m.version_id IS NOT NULL AND EXISTS (
        SELECT FROM runs r WHERE r.state = 'running'
            AND (r.policy_model_id = m.model_id OR m.model_id IN (SELECT value FROM jsonb_each_text(r.roles))))) AS busy
FROM engines e LEFT JOIN engine_models m ON m.engine_id = e.id
WHERE e.heartbeat_at > now() - make_interval(secs => %(fresh_s)s)
GROUP BY e.id ORDER BY e.id

-- name: manifests
SELECT w.model_id, w.version_id AS wanted_id, v.id, v.manifest
FROM unnest(%(model_ids)s::text[], %(version_ids)s::text[]) AS w (model_id, version_id)
JOIN LATERAL (
    SELECT id, manifest FROM versions v
    WHERE v.model_id = w.model_id AND (v.id = w.version_id OR (w.version_id IS NULL AND v.state = 'live'))
    ORDER BY v.number DESC LIMIT 1) v ON true
