-- When each committed step of a run passed from hand to hand.
SELECT s.n, min(g.created_at) AS requested_at, max(g.ready_at) AS ready_at, s.planned_at, s.committed_at
FROM steps s JOIN groups g ON g.id = ANY(s.group_ids)
WHERE s.run_id = %(run_id)s AND s.state = 'committed'
GROUP BY s.n, s.planned_at, s.committed_at
ORDER BY s.n
