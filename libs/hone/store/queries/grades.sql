-- Grades of trajectories.

-- name: components
-- The components of each sample's own grade, by name: the first one. Later grades stand beside it.
SELECT group_id, index, jsonb_object_agg(component, value) AS components
FROM (
    SELECT group_id, index, component, value, grader_hash,
           first_value(grader_hash) OVER (PARTITION BY group_id, index ORDER BY id) AS own
    FROM grades
    WHERE group_id = ANY (%(group_ids)s::bigint[]) AND level = 'trajectory' AND regrade_no = 0) graded
WHERE grader_hash = own AND component <> '' AND value IS NOT NULL
GROUP BY group_id, index

-- name: extracted
-- The final answers that graders extracted from samples.
SELECT id, extracted FROM grades WHERE id = ANY (%(grade_ids)s::bigint[]) AND extracted IS NOT NULL

-- name: of_trajectory
SELECT id, grader_hash, regrade_no, component, level, place, status, value, reasons, extracted, decided_by, cost_ms, error,
       tokens, evidence
FROM grades
WHERE group_id = %(group_id)s AND index = %(index)s
ORDER BY id

-- name: activity
SELECT graded.type, graded.component, graded.status, count(*)::integer AS grades,
       avg(graded.value)::double precision AS mean_value,
       avg(graded.cost_ms)::double precision AS mean_cost_ms, max(graded.cost_ms) AS max_cost_ms
FROM (SELECT coalesce(g.order #>> '{grader,type}', 'environment') AS type, newest.component, newest.status, newest.value,
             newest.cost_ms
      FROM (SELECT * FROM grades ORDER BY id DESC LIMIT %(limit)s) newest JOIN groups g ON g.id = newest.group_id) graded
GROUP BY graded.type, graded.component, graded.status
ORDER BY graded.type, graded.component, graded.status

-- name: stored
-- Every grade of these groups by one grader. Each row has `own`, the ids among them that are groups of this run; if there
-- is no grade yet, one row has `own` alone. A plan from the time when tables were empty would join on the id and walk
-- through both tables for each group. So groups are found by all ids at once, and filtered by run afterwards (OFFSET 0).
SELECT own.groups AS own, t.group_id, t.index, t.id, t.component, t.level, t.position, t.place, t.status,
    t.value, t.reasons, t.extracted, t.decided_by, t.cost_ms, t.tokens, t.evidence
FROM (
    SELECT coalesce(array_agg(id), '{}') AS groups
    FROM (SELECT id, run_id, tenant_id FROM groups WHERE id = ANY (%(group_ids)s::bigint[]) OFFSET 0) asked
    WHERE run_id = %(run_id)s AND tenant_id = %(tenant_id)s) own
LEFT JOIN grades t ON t.group_id = ANY (%(group_ids)s::bigint[]) AND t.grader_hash = %(grader_hash)s
    AND t.regrade_no = %(regrade_no)s

-- name: add
-- The first result of a sample stays. Returns the added grades; `stored` has the others. Every process inserts rows in
-- the same order, so that two graders of the same samples cannot deadlock; their groups are locked meanwhile.
WITH held AS (
    SELECT id FROM (
        SELECT id, run_id FROM groups WHERE id = ANY (%(group_ids)s::bigint[]) ORDER BY id OFFSET 0 FOR KEY SHARE) asked
    WHERE run_id = %(run_id)s)
INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, regrade_no, component, level, position,
                    place, status, value, reasons, extracted, decided_by, cost_ms, error, tokens, evidence)
SELECT %(tenant_id)s, %(run_id)s, group_id, index, %(grader_hash)s, %(regrade_no)s, component, level, position, place,
       status, value, reasons, extracted, decided_by, cost_ms, error, tokens, evidence
FROM json_to_recordset(%(grades)s::json) AS t (
    group_id bigint, index integer, component text, level text, position integer, place text, status text,
    value double precision, reasons text[], extracted text, decided_by text, cost_ms double precision, error text,
    tokens jsonb, evidence jsonb)
JOIN held ON held.id = t.group_id
ORDER BY group_id, index, level, position, component
ON CONFLICT (group_id, index, grader_hash, component, level, position, regrade_no) DO NOTHING
RETURNING group_id, index, id, component, level

-- name: second_share
-- Of how many of its training samples a run wants a second score.
SELECT (r.spec #>> '{judge_check,again}')::double precision AS share
FROM groups g JOIN runs r ON r.id = g.run_id WHERE g.id = %(group_id)s AND g.purpose = 'train'

-- name: disagreement
-- Of the samples of groups with two scores, the share whose verdicts differ.
SELECT avg(value) AS share FROM grades
WHERE group_id = ANY (%(group_ids)s::bigint[]) AND regrade_no = 2 AND component = 'disagrees' AND level = 'trajectory'
