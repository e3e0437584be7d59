-- Where run metrics are copied to besides these rows, and which of them have not arrived there yet: a point is unsent from
-- the transaction that makes it true until its sink has it, so that no restart loses one.
CREATE TABLE sinks (
    name        text PRIMARY KEY,       -- its entry in HONE_SINKS, without user and password
    created_at  timestamptz NOT NULL DEFAULT now()
);
-- No foreign keys: who records metrics must never fail because a sink is being taken away.
CREATE TABLE unsent_points (
    sink        text NOT NULL,
    run_id      text NOT NULL,
    step        integer NOT NULL,
    name        text NOT NULL,
    PRIMARY KEY (sink, run_id, step, name)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON sinks, unsent_points TO hone_worker;

CREATE FUNCTION mark_unsent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO unsent_points (sink, run_id, step, name)
    SELECT s.name, p.run_id, p.step, p.name FROM points p, sinks s ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM pg_notify('metrics', '');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER metrics_unsent AFTER INSERT ON metrics REFERENCING NEW TABLE AS points
    FOR EACH STATEMENT EXECUTE FUNCTION mark_unsent();

ALTER TABLE workers DROP CONSTRAINT workers_kind_check,
    ADD CONSTRAINT workers_kind_check CHECK (kind IN ('trainer', 'rollout', 'sinks'));
