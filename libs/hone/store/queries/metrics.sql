-- Metrics of steps.

-- name: record
INSERT INTO metrics (run_id, tenant_id, step, name, value)
SELECT %(run_id)s, %(tenant_id)s, %(step)s, m.name, m.value
FROM unnest(%(names)s::text[], %(values)s::double precision[]) AS m (name, value)
ON CONFLICT (run_id, name, step) DO NOTHING

-- name: evaluated_steps
-- The last ones.
SELECT step FROM metrics WHERE run_id = %(run_id)s AND name = 'eval/masked' ORDER BY step DESC LIMIT %(most)s

-- name: series
SELECT name, jsonb_agg(jsonb_build_array(step, value) ORDER BY step) AS points FROM metrics
WHERE run_id = %(run_id)s AND step > %(after_step)s AND (%(names)s::text[] IS NULL OR name = ANY (%(names)s))
GROUP BY name ORDER BY name
