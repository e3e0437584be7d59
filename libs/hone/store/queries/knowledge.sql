-- What runs learned of environments, under names of the transaction's tenant, in versions.

-- name: lock
-- Holds other requests that add a version of the name.
SELECT pg_advisory_xact_lock(hashtextextended('knowledge ' || current_setting('hone.tenant') || ' ' || %(name)s, 0))

-- name: learned
-- What a run has learned by committed steps, or began with, and the newest step that taught something.
SELECT coalesce(jsonb_agg(i.body ORDER BY i.version, i.place), '[]') AS items, coalesce(max(i.version), 0) AS step
FROM collection_items i
WHERE i.run_id = %(run_id)s AND i.name = %(collection)s AND (i.version = 0 OR EXISTS (
    SELECT FROM steps s WHERE s.run_id = i.run_id AND s.n = i.version AND s.state = 'committed'))

-- name: put
-- Nothing is added where the newest version of the name has the same items.
WITH newest AS (
    SELECT version, items FROM knowledge WHERE tenant_id = current_setting('hone.tenant') AND name = %(name)s
    ORDER BY version DESC LIMIT 1)
INSERT INTO knowledge (tenant_id, name, version, environment, run_id, step, items)
SELECT current_setting('hone.tenant'), %(name)s, 1 + coalesce((SELECT version FROM newest), 0), %(environment)s, %(run_id)s, %(step)s,
    %(items)s
WHERE NOT EXISTS (SELECT FROM newest WHERE items = %(items)s)
RETURNING version

-- name: one
-- A version of a name, or its newest one.
SELECT name, version, environment, run_id, step, created_at, jsonb_array_length(items) AS items,
    (SELECT count(DISTINCT (item ->> 'kind', item ->> 'text')) FROM jsonb_array_elements(items) item) AS texts,
    (SELECT count(DISTINCT item ->> 'task') FROM jsonb_array_elements(items) item) AS tasks
FROM knowledge WHERE tenant_id = current_setting('hone.tenant') AND name = %(name)s
    AND (%(version)s::integer IS NULL OR version = %(version)s)
ORDER BY version DESC LIMIT 1

-- name: page
SELECT DISTINCT ON (name) name, version, environment, run_id, step, created_at, jsonb_array_length(items) AS items,
    (SELECT count(DISTINCT (item ->> 'kind', item ->> 'text')) FROM jsonb_array_elements(items) item) AS texts,
    (SELECT count(DISTINCT item ->> 'task') FROM jsonb_array_elements(items) item) AS tasks
FROM knowledge WHERE tenant_id = current_setting('hone.tenant') AND (%(after)s::text IS NULL OR name > %(after)s)
ORDER BY name, version DESC LIMIT %(limit)s

-- name: items
SELECT ordinality::int AS place, item ->> 'kind' AS kind, item ->> 'text' AS text, item ->> 'task' AS task
FROM knowledge, jsonb_array_elements(items) WITH ORDINALITY AS held (item, ordinality)
WHERE tenant_id = current_setting('hone.tenant') AND name = %(name)s AND version = %(version)s AND ordinality > %(after)s
ORDER BY ordinality LIMIT %(limit)s

-- name: delete
DELETE FROM knowledge WHERE tenant_id = current_setting('hone.tenant') AND name = %(name)s

-- name: begin
-- A run's collection as its first version, 0, which every group of it reads.
INSERT INTO collections (run_id, tenant_id, name, version, state)
SELECT %(run_id)s, tenant_id, %(collection)s, 0, jsonb_build_object('store', name, 'version', version) FROM knowledge
WHERE tenant_id = current_setting('hone.tenant') AND name = %(name)s AND version = %(version)s

-- name: begin_items
INSERT INTO collection_items (run_id, tenant_id, name, version, place, body)
SELECT %(run_id)s, tenant_id, %(collection)s, 0, (ordinality - 1)::int, item
FROM knowledge, jsonb_array_elements(items) WITH ORDINALITY AS held (item, ordinality)
WHERE tenant_id = current_setting('hone.tenant') AND name = %(name)s AND version = %(version)s
