-- What the raw writers of benchmarks.ingest copy: tables like ours, indexes included, without foreign keys and triggers.

-- name: make
CREATE TABLE IF NOT EXISTS raw_groups (LIKE groups INCLUDING ALL);
CREATE TABLE IF NOT EXISTS raw_trajectories (LIKE trajectories INCLUDING ALL);
CREATE TABLE IF NOT EXISTS raw_journal (LIKE journal INCLUDING ALL)

-- name: clear
TRUNCATE raw_groups, raw_trajectories, raw_journal

-- name: parts
SELECT DISTINCT part FROM trajectories WHERE run_id = %(run_id)s ORDER BY part

-- name: groups_out
COPY (SELECT * FROM groups WHERE run_id = {run_id} AND {part} = ANY (parts)) TO STDOUT

-- name: trajectories_out
COPY (SELECT * FROM trajectories WHERE run_id = {run_id} AND part = {part}) TO STDOUT

-- name: groups_in
COPY raw_groups FROM STDIN

-- name: trajectories_in
COPY raw_trajectories FROM STDIN

-- name: journal_in
COPY raw_journal (group_id, index, call, attempt, body) FROM STDIN

-- name: forget_journal
DELETE FROM raw_journal WHERE group_id = ANY (%(group_ids)s)

-- name: stored
SELECT count(*) AS samples, count(*) FILTER (WHERE t.part = ANY (g.parts)) AS named
FROM groups g JOIN trajectories t ON t.group_id = g.id WHERE g.run_id = %(run_id)s AND g.state = 'ready'
