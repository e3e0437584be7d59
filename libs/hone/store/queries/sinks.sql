-- Sinks, the runs they have open (sink_runs), and the points they do not have yet (unsent_points).

-- name: hold
-- Whether this session is the one that sends to a sink. When its connection ends, another session may.
SELECT CASE
    WHEN EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted) THEN true
    ELSE pg_try_advisory_lock(hashtext('hone.sinks'), hashtext(%(sink)s)) END AS held

-- name: forget_others
WITH forgotten AS (DELETE FROM sinks WHERE NOT name = ANY (%(names)s)),
     closed AS (DELETE FROM sink_runs WHERE NOT sink = ANY (%(names)s))
DELETE FROM unsent_points WHERE NOT sink = ANY (%(names)s)

-- name: names
SELECT name FROM sinks

-- name: lock_metrics
-- No process records a metric between the moment a sink is added and the moment it gets all older points.
LOCK TABLE metrics IN SHARE ROW EXCLUSIVE MODE

-- name: add
INSERT INTO sinks (name) VALUES (%(sink)s) ON CONFLICT DO NOTHING

-- name: owe_all
INSERT INTO unsent_points (sink, run_id, step, name) SELECT %(sink)s, run_id, step, name FROM metrics
ON CONFLICT DO NOTHING

-- name: unsent
SELECT u.run_id, r.name AS run_name, u.step, u.name, m.value, extract(epoch FROM m.created_at)::double precision AS at
FROM unsent_points u
JOIN metrics m ON m.run_id = u.run_id AND m.name = u.name AND m.step = u.step
JOIN runs r ON r.id = u.run_id
WHERE u.sink = %(sink)s AND NOT u.run_id = ANY (%(without)s::text[])
ORDER BY u.run_id, u.step, u.name LIMIT %(limit)s

-- name: forget_sent
DELETE FROM unsent_points u
USING unnest(%(run_ids)s::text[], %(steps)s::integer[], %(names)s::text[]) AS sent (run_id, step, name)
WHERE u.sink = %(sink)s AND u.run_id = sent.run_id AND u.step = sent.step AND u.name = sent.name

-- name: open_run
INSERT INTO sink_runs (sink, run_id) VALUES (%(sink)s, %(run_id)s) ON CONFLICT DO NOTHING

-- name: ended_runs
-- Ended runs that a sink has open and whose points it has completely.
SELECT r.id, r.name, r.state FROM sink_runs o JOIN runs r ON r.id = o.run_id
WHERE o.sink = %(sink)s AND r.ended_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM unsent_points u WHERE u.sink = o.sink AND u.run_id = o.run_id)
ORDER BY r.id

-- name: close_run
DELETE FROM sink_runs WHERE sink = %(sink)s AND run_id = %(run_id)s
