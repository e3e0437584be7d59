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
