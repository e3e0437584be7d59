-- The journal: finished calls of open groups.

-- name: delete_dropped
DELETE FROM journal WHERE group_id IN (SELECT id FROM groups WHERE run_id = %(run_id)s AND state = 'dropped')

-- name: calls
SELECT group_id, call, body FROM journal WHERE group_id = ANY(%(group_ids)s::bigint[])

-- name: add
-- Returns the groups whose claims still hold; the lock keeps them until the calls are written. A row has the calls of
-- the same number that several samples finished together, under the lowest of their indices.
WITH held AS (
    SELECT g.id, g.attempt FROM groups g
    JOIN (SELECT DISTINCT id, attempt FROM unnest(%(group_ids)b::bigint[], %(attempts)b::bigint[]) AS c (id, attempt)) c
        USING (id, attempt)
    WHERE g.state = 'requested' ORDER BY g.id FOR SHARE OF g),
kept AS (
    INSERT INTO journal (group_id, index, call, attempt, body)
    SELECT held.id, c.index, c.call, held.attempt, c.body
    FROM unnest(%(group_ids)b::bigint[], %(indices)b::int[], %(calls)b::text[], %(bodies)b::bytea[])
        AS c (id, index, call, body)
    JOIN held USING (id)
    ON CONFLICT (group_id, index, call) DO NOTHING)
SELECT id FROM held
