-- Collections and their items (collection_items).

-- name: add
INSERT INTO collections (run_id, tenant_id, name, version, state)
VALUES (%(run_id)s, %(tenant_id)s, %(name)s, %(version)s, %(state)s)

-- name: add_items
INSERT INTO collection_items (run_id, tenant_id, name, version, place, body)
SELECT %(run_id)s, %(tenant_id)s, %(name)s, %(version)s, i.place - 1, i.body
FROM unnest(%(bodies)s::jsonb[]) WITH ORDINALITY AS i (body, place)

-- name: items
-- In the order of the parameters. An item that is named twice comes twice.
SELECT i.version, i.place, i.body
FROM unnest(%(versions)s::int[], %(places)s::int[]) WITH ORDINALITY AS wanted (version, place, turn)
JOIN collection_items i ON i.run_id = %(run_id)s AND i.name = %(name)s
    AND i.version = wanted.version AND i.place = wanted.place
ORDER BY wanted.turn

-- name: of_run
-- Each collection with its newest version.
SELECT c.name, max(c.version) AS version, count(*) AS versions, max(c.created_at) AS created_at,
    (SELECT count(*) FROM collection_items i WHERE i.run_id = %(run_id)s AND i.name = c.name) AS items
FROM collections c WHERE c.run_id = %(run_id)s GROUP BY c.name ORDER BY c.name

-- name: known
SELECT FROM collections WHERE run_id = %(run_id)s AND name = %(name)s LIMIT 1

-- name: after
SELECT version || '.' || place AS id, body FROM collection_items
WHERE run_id = %(run_id)s AND name = %(name)s AND (version, place) > (%(version)s, %(place)s)
ORDER BY version, place LIMIT %(limit)s

-- name: committed
-- The newest version of each of these collections that came with a committed step.
SELECT c.name, max(c.version) AS version FROM collections c
JOIN steps s ON s.run_id = c.run_id AND s.n = c.version AND s.state = 'committed'
WHERE c.run_id = %(run_id)s AND c.name = ANY (%(names)s::text[]) GROUP BY c.name

-- name: read
-- The newest `most` items of each collection as of its pinned version, oldest first.
SELECT wanted.name, i.version || '.' || i.place AS id, i.body
FROM unnest(%(names)s::text[], %(versions)s::int[]) AS wanted (name, pinned), LATERAL (
    SELECT version, place, body FROM collection_items
    WHERE run_id = %(run_id)s AND name = wanted.name AND version <= wanted.pinned
    ORDER BY version DESC, place DESC LIMIT %(most)s) AS i
ORDER BY wanted.name, i.version, i.place

-- name: newest
SELECT max(version) AS version FROM collections
WHERE run_id = %(run_id)s AND name = %(name)s AND version BETWEEN %(first)s AND %(last)s

-- name: of_version
SELECT body FROM collection_items WHERE run_id = %(run_id)s AND name = %(name)s AND version = %(version)s ORDER BY place

-- name: newest_saved
-- The newest manifest that a user saved of a run, else the newest that the run made of its own rollouts.
SELECT c.name, c.version,
    (SELECT count(*) FROM collection_items i WHERE i.run_id = c.run_id AND i.name = c.name AND i.version = c.version
        AND (i.body ->> 'pass_rate')::double precision > 0 AND (i.body ->> 'pass_rate')::double precision < 1) AS usable
FROM collections c WHERE c.run_id = %(run_id)s AND c.name = ANY (%(names)s::text[])
ORDER BY array_position(%(names)s::text[], c.name), c.version DESC LIMIT 1

-- name: copy
INSERT INTO collections (run_id, tenant_id, name, version, state)
SELECT %(run_id)s, tenant_id, %(name)s, 0, jsonb_build_object('run', run_id, 'name', name, 'version', version)
FROM collections WHERE run_id = %(of_run)s AND name = %(of_name)s AND version = %(of_version)s

-- name: copy_items
INSERT INTO collection_items (run_id, tenant_id, name, version, place, body)
SELECT %(run_id)s, tenant_id, %(name)s, 0, place, body
FROM collection_items WHERE run_id = %(of_run)s AND name = %(of_name)s AND version = %(of_version)s

-- name: next_version
-- Of versions that users add. They are added one after the other.
SELECT coalesce(max(c.version), 0) + 1 AS version FROM collections c WHERE c.run_id = %(run_id)s AND c.name = %(name)s
