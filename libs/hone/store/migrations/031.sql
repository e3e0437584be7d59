-- Has grades by judges and programs taken from the table of jobs.

-- Adds a job for each new row. The runs of a tenant take turns.
CREATE FUNCTION add_grading_jobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO jobs (tenant_id, kind, subject, owner, attempts, late)
    SELECT tenant_id, 'grading', id::text, run_id, attempts, state = 'parked' FROM added;
    RETURN NULL;
END $$;

CREATE TRIGGER adds_jobs AFTER INSERT ON grading_jobs REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_grading_jobs();

-- Workers of the release before go on with rows that they see: the first grade of a sample counts, and the job of a row
-- that they delete ends quietly.
INSERT INTO jobs (tenant_id, kind, subject, owner, attempts, late, due_at, reason)
SELECT tenant_id, 'grading', id::text, run_id, attempts, state = 'parked', due_at, reason FROM grading_jobs;
