-- name: stored
-- Of each group whether it is this run's; with every grade that it has by a grader, or one row without a grade.
SELECT w.id AS group_id, g.id IS NOT NULL AS own, t.index, t.id, t.component, t.status, t.value, t.reasons, t.extracted,
    t.decided_by, t.cost_ms
FROM unnest(%(group_ids)s::bigint[]) AS w (id)
LEFT JOIN groups g ON g.id = w.id AND g.run_id = %(run_id)s AND g.tenant_id = %(tenant_id)s
LEFT JOIN grades t ON t.group_id = g.id AND t.grader_hash = %(grader_hash)s
    AND t.level = 'trajectory' AND t.position = 0 AND t.regrade_no = 0;

-- name: add
-- First result wins: what comes back is what was added, for the rest ask `stored`. Rows are inserted in one order
-- everywhere, so that two graders of the same samples cannot deadlock; their groups are held meanwhile.
WITH held AS (
    SELECT id FROM groups WHERE id = ANY (%(group_ids)s::bigint[]) AND run_id = %(run_id)s ORDER BY id FOR KEY SHARE)
INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, component, status, value, reasons,
                    extracted, decided_by, cost_ms)
SELECT %(tenant_id)s, %(run_id)s, group_id, index, %(grader_hash)s, component, status, value, reasons,
       extracted, decided_by, cost_ms
FROM json_to_recordset(%(grades)s::json) AS t (
    group_id bigint, index integer, component text, status text, value double precision, reasons text[],
    extracted text, decided_by text, cost_ms double precision)
JOIN held ON held.id = t.group_id
ORDER BY group_id, index, component
ON CONFLICT (group_id, index, grader_hash, component, level, position, regrade_no) DO NOTHING
RETURNING group_id, index, id, component;
