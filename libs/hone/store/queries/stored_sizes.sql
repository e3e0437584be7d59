-- What tenants occupy in the object store (stored_sizes).

-- name: add
-- The next objects of these owners. `continued`: the sweep before saw the owner's first objects; `complete`: these are
-- the last ones. Objects of nobody are left out.
WITH given AS (
    SELECT g.*, coalesce((SELECT tenant_id FROM runs WHERE id = owner), (SELECT tenant_id FROM models WHERE id = owner),
        (SELECT tenant_id FROM artifacts WHERE id = owner)) AS tenant_id
    FROM unnest(%(owners)s::text[], %(bytes)s::bigint[], %(objects)s::bigint[], %(continued)s::boolean[],
        %(complete)s::boolean[]) AS g (owner, bytes, objects, continued, complete)),
summed AS (
    SELECT g.owner, g.tenant_id, g.complete,
        g.bytes + CASE WHEN g.continued THEN coalesce(s.begun_bytes, 0) ELSE 0 END AS bytes,
        g.objects + CASE WHEN g.continued THEN coalesce(s.begun_objects, 0) ELSE 0 END AS objects
    FROM given g LEFT JOIN stored_sizes s ON s.owner_id = g.owner WHERE g.tenant_id IS NOT NULL)
INSERT INTO stored_sizes AS s (owner_id, tenant_id, bytes, objects, begun_bytes, begun_objects)
SELECT owner, tenant_id, CASE WHEN complete THEN bytes END, CASE WHEN complete THEN objects END, bytes, objects
FROM summed
ON CONFLICT (owner_id) DO UPDATE SET bytes = coalesce(excluded.bytes, s.bytes),
    objects = coalesce(excluded.objects, s.objects), begun_bytes = excluded.begun_bytes,
    begun_objects = excluded.begun_objects, measured_at = now()

-- name: forget_gone
-- At the end of a sweep: owners of which it found no object.
DELETE FROM stored_sizes s USING orphan_sweeps o WHERE s.measured_at < o.begun_at

-- name: page
-- A run counts with its models. Models of deleted runs from which others start count as `kept`.
SELECT found.kind, found.id, found.name, found.bytes::bigint, found.objects::bigint, found.measured_at FROM (
    SELECT CASE a.kind WHEN 'base_model' THEN 'model' ELSE a.kind END AS kind, a.id, a.name, s.bytes, s.objects,
        s.measured_at
    FROM stored_sizes s JOIN artifacts a ON a.id = s.owner_id
    UNION ALL
    SELECT CASE WHEN r.preflight IS NULL THEN 'run' ELSE 'preflight' END, r.id, r.name, sum(s.bytes), sum(s.objects),
        min(s.measured_at)
    FROM runs r JOIN LATERAL (
        SELECT DISTINCT owner FROM (
            SELECT r.id AS owner UNION ALL SELECT r.policy_model_id
            UNION ALL SELECT value FROM jsonb_each_text(r.roles)) own) own ON true
    JOIN stored_sizes s ON s.owner_id = own.owner
    GROUP BY r.id
    UNION ALL
    SELECT 'kept', m.id, m.id, s.bytes, s.objects, s.measured_at
    FROM stored_sizes s JOIN models m ON m.id = s.owner_id WHERE m.deleted_at IS NOT NULL) found
WHERE found.bytes > 0 ORDER BY found.bytes DESC, found.id LIMIT %(limit)s

-- name: total
SELECT coalesce(sum(bytes), 0)::bigint AS bytes, coalesce(sum(objects), 0)::bigint AS objects,
    min(measured_at) AS measured_at
FROM stored_sizes
