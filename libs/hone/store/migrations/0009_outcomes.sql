-- An outcome is what a sample came to, once, however many graders looked at it and however often: its trajectory says.
CREATE OR REPLACE VIEW outcomes WITH (security_invoker = true) AS
    SELECT g.run_id, g.purpose, g.task_hash, g.step, g.state, g.version_id, g.id AS group_id, t.index, t.status,
        t.score AS value
    FROM trajectories t JOIN groups g ON g.id = t.group_id;
