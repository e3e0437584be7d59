-- What the gateway's role may see and write beyond its tenant's rows. Engines and workers serve everybody: every tenant
-- may know that they live and how busy they are, of the models that they hold its own alone.

-- Who calls is asked before any tenant is named: of a key's hash alone, by a function that tells nothing else.
CREATE FUNCTION key_holder(wanted bytea) RETURNS TABLE (id text, tenant_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS
    $$ SELECT k.id, k.tenant_id FROM api_keys k WHERE k.hash = wanted AND k.revoked_at IS NULL $$;
REVOKE ALL ON FUNCTION key_holder FROM PUBLIC;
GRANT EXECUTE ON FUNCTION key_holder TO hone_gateway, hone_worker;

DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['tenants', 'api_keys', 'engine_models'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY every_tenant ON %I TO hone_worker USING (true)', t);
    END LOOP;
END $$;
CREATE POLICY own_tenant ON tenants TO hone_gateway USING (id = current_setting('hone.tenant'));
CREATE POLICY own_tenant ON api_keys TO hone_gateway USING (tenant_id = current_setting('hone.tenant'));
CREATE POLICY own_tenant ON engine_models TO hone_gateway
    USING (EXISTS (SELECT FROM models m WHERE m.id = model_id));  -- of models it sees its tenant's

-- It writes what is wanted, and what comes in with a request; of everything else somebody else is the one writer.
REVOKE INSERT, UPDATE, DELETE ON tenants, api_keys, engines, engine_models, versions, groups, group_transitions, steps,
    trajectories, grades, metrics, usage FROM hone_gateway;
REVOKE ALL ON migrations FROM hone_gateway, hone_worker;

ALTER TABLE engines ADD COLUMN load double precision;  -- share of the last second or so in which it computed
