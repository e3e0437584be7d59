-- Metrics of steps.

-- name: record
INSERT INTO metrics (run_id, tenant_id, step, name, value)
SELECT %(run_id)s, %(tenant_id)s, %(step)s, m.name, m.value
FROM unnest(%(names)s::text[], %(values)s::double precision[]) AS m (name, value)
ON CONFLICT (run_id, name, step) DO NOTHING

-- name: before
-- The newest value before a step.
SELECT value FROM metrics WHERE run_id = %(run_id)s AND name = %(name)s AND step < %(step)s ORDER BY step DESC LIMIT 1

-- name: evaluated_steps
-- The last ones.
SELECT step FROM metrics WHERE run_id = %(run_id)s AND name = 'eval/masked' ORDER BY step DESC LIMIT %(most)s

-- name: series
-- The first steps of each series, about `most` points in all. Where there are more, `next` is the last step up to which
-- every series is whole. The names are read by steps through the index, not from every step's row.
WITH RECURSIVE named AS (
    (SELECT m.name FROM metrics m WHERE m.run_id = %(run_id)s ORDER BY m.name LIMIT 1)
    UNION ALL
    SELECT (SELECT m.name FROM metrics m WHERE m.run_id = %(run_id)s AND m.name > named.name ORDER BY m.name LIMIT 1)
    FROM named WHERE named.name IS NOT NULL),
wanted AS (
    SELECT name, greatest(1, %(most)s / count(*) OVER ()) AS room FROM named
    WHERE name IS NOT NULL AND (%(names)s::text[] IS NULL OR name = ANY (%(names)s))),
first AS (
    SELECT w.name, p.step, p.value, row_number() OVER (PARTITION BY w.name ORDER BY p.step) > w.room AS beyond
    FROM wanted w, LATERAL (
        SELECT m.step, m.value FROM metrics m WHERE m.run_id = %(run_id)s AND m.name = w.name AND m.step > %(after_step)s
        ORDER BY m.step LIMIT w.room + 1) p),
cut AS (SELECT min(step) AS step FROM first WHERE beyond)
SELECT f.name, jsonb_agg(jsonb_build_array(f.step, f.value) ORDER BY f.step) AS points, cut.step - 1 AS next
FROM first f, cut WHERE cut.step IS NULL OR f.step < cut.step
GROUP BY f.name, cut.step ORDER BY f.name
