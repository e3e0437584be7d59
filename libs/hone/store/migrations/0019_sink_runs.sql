-- Which runs a sink has open: from the transaction that strikes off their first points until it has been told of their
-- end, whichever process does so. No foreign keys, as of unsent_points.
CREATE TABLE sink_runs (
    sink        text NOT NULL,
    run_id      text NOT NULL,
    PRIMARY KEY (sink, run_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON sink_runs TO hone_worker;

INSERT INTO sink_runs (sink, run_id)
SELECT s.name, r.id FROM sinks s, runs r
WHERE r.ended_at IS NULL AND EXISTS (SELECT FROM metrics m WHERE m.run_id = r.id);
