-- Has packages that are made from hints taken from the table of jobs.

CREATE TRIGGER adds_jobs AFTER INSERT ON package_jobs REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_jobs('package');

INSERT INTO jobs (tenant_id, kind, subject, owner, attempts, due_at, reason)
SELECT tenant_id, 'package', id, tenant_id, attempts, due_at, reason FROM package_jobs WHERE state IN ('waiting', 'taken');
