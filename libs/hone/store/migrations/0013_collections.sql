-- What a run collects while it trains: stores that only grow. A version comes with a step, in the transaction that plans
-- it, and never changes; who reads names the version.
CREATE TABLE collections (
    run_id      text NOT NULL REFERENCES runs,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,           -- verification
    version     integer NOT NULL,        -- the step that it came with
    state       jsonb NOT NULL DEFAULT '{}', -- what its builder hands on to the next version
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, name, version)
);

CREATE TABLE collection_items (
    run_id      text NOT NULL,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    version     integer NOT NULL,        -- that added it
    place       integer NOT NULL,        -- with the version its id
    body        jsonb NOT NULL,
    PRIMARY KEY (run_id, name, version, place),
    FOREIGN KEY (run_id, name, version) REFERENCES collections
);

DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['collections', 'collection_items'] LOOP
        EXECUTE format('GRANT SELECT, INSERT ON %I TO hone_worker', t);
        EXECUTE format('GRANT SELECT ON %I TO hone_gateway', t);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY own_tenant ON %I TO hone_gateway USING (tenant_id = current_setting(''hone.tenant''))', t);
        EXECUTE format('CREATE POLICY every_tenant ON %I TO hone_worker USING (true)', t);
    END LOOP;
END $$;

-- Which of a run's tasks a group is for: its own (generate), or judging answers to them (verify).
ALTER TABLE groups ADD COLUMN kind text NOT NULL DEFAULT 'generate' CHECK (kind IN ('generate', 'verify'));
