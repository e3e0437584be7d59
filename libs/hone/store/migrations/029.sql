-- Adds the table of jobs, and has checks of graders and fits of audiences taken from it.

-- Work that outlives the request for it. Its subject is the row that users see; a trigger of the subject's table adds the
-- job, so that a gateway of the release before adds jobs as well.
CREATE TABLE jobs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL,
    kind        text NOT NULL,           -- grader_check, audience_fit: a kind of hone.jobs that some service works on
    subject     text NOT NULL,           -- id of the row that says what has to be done
    owner        text NOT NULL,           -- owners take turns: a tenant, or a run
    late        boolean NOT NULL DEFAULT false,  -- it waits behind all jobs that are not
    attempts    integer NOT NULL DEFAULT 0,
    takedowns   integer NOT NULL DEFAULT 0,  -- workers in a row that went away with it
    epoch       bigint NOT NULL DEFAULT 0,   -- grows whenever it is taken: a worker that lost it settles nothing
    worker      text,                    -- that has it; null: it waits
    due_at      timestamptz NOT NULL DEFAULT now(),  -- of one in work: until when no other worker takes it
    reason      text,                    -- why the attempt before did not end it
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (kind, subject)
);
CREATE INDEX jobs_by_due ON jobs (kind, due_at);
CREATE INDEX jobs_by_worker ON jobs (worker) WHERE worker IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO hone_worker;
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY every_tenant ON jobs TO hone_worker USING (true);
CREATE POLICY own_tenant ON jobs TO hone_gateway USING (tenant_id = current_setting('hone.tenant'));

-- Adds a job of a kind for each new row that has not ended.
CREATE FUNCTION add_jobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO jobs (tenant_id, kind, subject, owner, attempts)
    SELECT tenant_id, TG_ARGV[0], id, tenant_id, attempts FROM added WHERE state IN ('waiting', 'taken');
    RETURN NULL;
END $$;

-- Ends the jobs of deleted rows. A worker that has one stops at the next renewal of its lease.
CREATE FUNCTION end_jobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM jobs j USING gone WHERE j.kind = TG_ARGV[0] AND j.subject = gone.id;
    RETURN NULL;
END $$;

CREATE TRIGGER adds_jobs AFTER INSERT ON grader_checks REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_jobs('grader_check');
CREATE TRIGGER ends_jobs AFTER DELETE ON grader_checks REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION end_jobs('grader_check');
CREATE TRIGGER adds_jobs AFTER INSERT ON audience_fits REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_jobs('audience_fit');
CREATE TRIGGER ends_jobs AFTER DELETE ON audience_fits REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION end_jobs('audience_fit');

-- Waiting rows, and rows that a worker of the release before has: when its lease ends, a worker of jobs takes them.
INSERT INTO jobs (tenant_id, kind, subject, owner, attempts, due_at, reason)
SELECT tenant_id, 'grader_check', id, tenant_id, attempts, due_at, reason FROM grader_checks WHERE state IN ('waiting', 'taken')
UNION ALL
SELECT tenant_id, 'audience_fit', id, tenant_id, attempts, due_at, reason FROM audience_fits WHERE state IN ('waiting', 'taken');
