-- Has deletions taken from the table of jobs.

CREATE FUNCTION add_deletion_jobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO jobs (tenant_id, kind, subject, owner)
    SELECT tenant_id, 'deletion', subject_id, tenant_id FROM added WHERE finished_at IS NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER adds_jobs AFTER INSERT ON deletions REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_deletion_jobs();

-- Drivers of the release before go on with deletions as well: each batch locks its row.
INSERT INTO jobs (tenant_id, kind, subject, owner)
SELECT tenant_id, 'deletion', subject_id, tenant_id FROM deletions WHERE finished_at IS NULL;
