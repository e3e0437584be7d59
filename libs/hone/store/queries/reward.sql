-- name: stored
-- Grades that samples have already. Every sample comes back, with `known` false when its group is not this run's.
SELECT w.group_id, w.index, g.id IS NOT NULL AS known, r.id, r.component, r.status, r.value, r.reasons,
       r.extracted, r.decided_by, r.cost_ms
FROM unnest(%(group_ids)s::bigint[], %(indexes)s::integer[]) AS w (group_id, index)
LEFT JOIN groups g ON g.id = w.group_id AND g.run_id = %(run_id)s AND g.tenant_id = %(tenant_id)s
LEFT JOIN grades r ON r.group_id = w.group_id AND r.index = w.index AND r.grader_hash = %(grader_hash)s
                  AND r.level = 'trajectory' AND r.position = 0 AND r.regrade_no = 0;

-- name: add
-- First result wins. Rows are inserted in one order everywhere, so that two graders of one sample cannot deadlock.
-- What another grader added while this statement ran is in neither half: ask `stored` for it.
WITH given AS (
    SELECT * FROM unnest(
        %(group_ids)s::bigint[], %(indexes)s::integer[], %(components)s::text[], %(statuses)s::text[],
        %(values)s::double precision[], %(reasons)s::text[], %(extracted)s::text[], %(decided_by)s::text[],
        %(cost_ms)s::double precision[])
        AS t (group_id, index, component, status, value, reasons, extracted, decided_by, cost_ms)
), added AS (
    INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, component, status, value, reasons,
                        extracted, decided_by, cost_ms)
    SELECT %(tenant_id)s, %(run_id)s, group_id, index, %(grader_hash)s, component, status, value,
           ARRAY(SELECT jsonb_array_elements_text(reasons::jsonb)), extracted, decided_by, cost_ms
    FROM given ORDER BY group_id, index, component
    ON CONFLICT (group_id, index, grader_hash, component, level, position, regrade_no) DO NOTHING
    RETURNING *
)
SELECT group_id, index, id, component, status, value, reasons, extracted, decided_by, cost_ms FROM added
UNION ALL
SELECT r.group_id, r.index, r.id, r.component, r.status, r.value, r.reasons, r.extracted, r.decided_by, r.cost_ms
FROM grades r JOIN given USING (group_id, index, component)
WHERE r.grader_hash = %(grader_hash)s AND r.level = 'trajectory' AND r.position = 0 AND r.regrade_no = 0;
