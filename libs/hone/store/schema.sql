-- The data model. Rows are the truth, messages are hints, and time is now() of this server.
--
--   who calls           tenants, api_keys, idempotency_keys, audit_log
--   what runs start from  artifacts; packages, package_jobs; knowledge; uploads, upload_files, upload_parts
--   runs                runs, steps, collections, collection_items
--   models              models, operations, versions
--   samples             groups, group_transitions, trajectories, grades, journal, prompts; the view outcomes
--   who serves          engines, engine_models, workers
--   who answers         routes, decisions, feedback
--   who grades          stored_graders, grading_jobs, grader_checks, judges, secrets, judge_answers, judge_spending
--   who is simulated    audience_fits, audience_policies, audience_groups
--   what is reported    metrics, evaluations, events, usage; prices, the view costs; sinks, sink_runs, unsent_points
--   what is deleted     deletions
--   the object store    orphans, orphan_sweeps, stored_sizes
--
-- Two roles use the tables: hone_gateway sees one tenant per transaction, hone_worker sees all. Who may do what is at
-- the end.
--
-- This file makes version 27 and does not change any more: a change of the tables is a new file in migrations/.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hone_gateway') THEN CREATE ROLE hone_gateway NOLOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hone_worker') THEN CREATE ROLE hone_worker NOLOGIN; END IF;
END $$;

-- One row: the version of the tables.
CREATE TABLE schema_version (
    version     integer PRIMARY KEY
);


-- Who calls -----------------------------------------------------------------------------------------------------------

-- A customer. Every row of a run or model names its tenant.
CREATE TABLE tenants (
    id          text PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    operator    boolean NOT NULL DEFAULT false,  -- its admin keys administer every tenant; no gateway may change it
    suspended_at timestamptz,            -- since then none of its keys is accepted
    deleted_at  timestamptz,             -- since then its name is free; usage and audit log still name it by its id
    max_runs    integer CHECK (max_runs >= 0),   -- quotas; null: no limit. Runs that have begun and not ended
    max_running_groups integer NOT NULL DEFAULT 4096 CHECK (max_running_groups >= 0),  -- claimed at a time
    max_tokens_a_day bigint CHECK (max_tokens_a_day >= 0),  -- generated and trained, in a day of UTC
    max_stored_bytes bigint CHECK (max_stored_bytes >= 0),
    month_budget double precision CHECK (month_budget >= 0),  -- money for a month of UTC, see prices
    created_at  timestamptz NOT NULL DEFAULT now(),
    CHECK (NOT operator OR suspended_at IS NULL)  -- else nobody could administer
);

-- The keys of a tenant. Only a key's hash is stored.
CREATE TABLE api_keys (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    prefix      text NOT NULL,
    hash        bytea NOT NULL UNIQUE,
    scopes      text[] NOT NULL CHECK (scopes <> '{}' AND scopes <@ ARRAY['read', 'run', 'admin']),
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,             -- null: never
    last_used_at timestamptz,            -- to the minute or so
    revoked_at  timestamptz
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);

-- The answer to each request that had an idempotency key, so that a retry gets the same answer.
CREATE TABLE idempotency_keys (
    tenant_id   text NOT NULL REFERENCES tenants,
    key         text NOT NULL,
    request_sha bytea NOT NULL,
    status      integer,
    response    jsonb,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);

-- Who changed what: one row for each request that changed rows, from the transaction that did. It is never changed.
CREATE TABLE audit_log (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,-- of the operator's tenant where the operator did it; null: in the database itself
    action      text NOT NULL,           -- runs.create
    subject     text NOT NULL,           -- id of what was made or changed
    request_id  text NOT NULL,
    address     text NOT NULL,           -- that the request came from
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX audit_log_by_time ON audit_log (tenant_id, created_at, id);
CREATE INDEX audit_log_by_subject ON audit_log (tenant_id, subject, created_at, id);

-- The holder of a key that is in use, and what the key may do. The gateway asks before it knows the tenant, so this
-- function alone may read every tenant's keys.
CREATE FUNCTION key_holder(wanted bytea)
    RETURNS TABLE (id text, tenant_id text, name text, scopes text[], operator boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT k.id, k.tenant_id, k.name, k.scopes, t.operator FROM api_keys k JOIN tenants t ON t.id = k.tenant_id
    WHERE k.hash = wanted AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
        AND t.suspended_at IS NULL
$$;

-- Whether this transaction administers every tenant: it asks for that, and its tenant is an operator.
CREATE FUNCTION operates() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT current_setting('hone.operator', true) = 'on' AND EXISTS (
        SELECT FROM tenants t WHERE t.id = current_setting('hone.tenant') AND t.operator)
$$;

-- Whether there is one tenant. A gateway sees its caller's alone.
CREATE FUNCTION single_tenant() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS
    $$ SELECT count(*) <= 1 FROM (SELECT FROM tenants WHERE deleted_at IS NULL LIMIT 2) few $$;

-- Deletes a tenant that holds nothing any more and returns what it holds. Only a transaction that operates may.
-- Requests that had a key of the tenant before are waited for, as their rows name it.
CREATE FUNCTION delete_tenant(wanted text) RETURNS TABLE (runs bigint, models bigint, datasets bigint, uploads bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM tenants t WHERE t.id = wanted AND NOT t.operator AND operates() FOR UPDATE;
    IF NOT FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = 'only an operator deletes a tenant, and no operator is deleted';
    END IF;
    SELECT (SELECT count(*) FROM runs r WHERE r.tenant_id = wanted AND r.deleted_at IS NULL AND (
                r.preflight IS NULL OR r.state IN ('queued', 'running', 'paused'))),
        count(*) FILTER (WHERE a.kind = 'base_model'), count(*) FILTER (WHERE a.kind = 'dataset'),
        (SELECT count(*) FROM uploads u WHERE u.tenant_id = wanted AND u.state IN ('open', 'refused'))
        INTO runs, models, datasets, uploads
        FROM artifacts a WHERE a.tenant_id = wanted AND a.deleted_at IS NULL;
    IF runs + models + datasets + uploads = 0 THEN
        UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, now()) WHERE k.tenant_id = wanted;
        UPDATE tenants t SET deleted_at = now(), suspended_at = coalesce(t.suspended_at, now()), name = t.id
            WHERE t.id = wanted;
    END IF;
    RETURN NEXT;
END $$;


-- What runs start from ------------------------------------------------------------------------------------------------

-- Immutable inputs: base models, datasets, graders. Their files are in the object store under the manifest's keys.
CREATE TABLE artifacts (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    kind        text NOT NULL CHECK (kind IN ('base_model', 'dataset', 'grader')),
    name        text NOT NULL,
    hash        text NOT NULL,
    manifest    jsonb NOT NULL,          -- {files: {name: {key, sha256, bytes}}, ...}
    report      jsonb NOT NULL DEFAULT '{}',
    key_id      text REFERENCES api_keys,-- that registered it
    created_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz              -- no request finds it from then on; its row stays while a model starts from it
);
CREATE UNIQUE INDEX artifacts_named ON artifacts (tenant_id, kind, name) WHERE deleted_at IS NULL;

-- Files that arrive in parts and then become an artifact. Any gateway takes the next part, also after a restart.
CREATE TABLE uploads (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    kind        text NOT NULL CHECK (kind IN ('base_model', 'dataset')),
    name        text NOT NULL,
    content     text NOT NULL,           -- digest of kind, name, files and options: who asks for the same goes on with it
    options     jsonb NOT NULL DEFAULT '{}',
    artifact_id text NOT NULL,           -- of the artifact that it becomes; its objects are stored under this id at once
    key_id      text REFERENCES api_keys,-- that announced it
    state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'refused', 'done', 'aborted', 'expired')),
    reason      text,                    -- why it was refused; with other files it is open again
    created_at  timestamptz NOT NULL DEFAULT now(),
    touched_at  timestamptz NOT NULL DEFAULT now(),  -- the last part, or the last change of its files
    ended_at    timestamptz
);
CREATE UNIQUE INDEX uploads_open ON uploads (tenant_id, content) WHERE state = 'open';
CREATE INDEX uploads_kept ON uploads (touched_at) WHERE state IN ('open', 'refused');
CREATE INDEX uploads_ended ON uploads (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX uploads_by_artifact ON uploads (artifact_id);
CREATE INDEX uploads_by_name ON uploads (tenant_id, kind, name);

-- One file of an upload, as the client announced it.
CREATE TABLE upload_files (
    upload_id   text NOT NULL REFERENCES uploads ON DELETE CASCADE,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    bytes       bigint NOT NULL,
    sha256      text NOT NULL,
    key         text,                    -- of its object; null: nothing would read the file, so no part is taken
    part_bytes  integer NOT NULL,
    unfinished  text,                    -- the object store's id of an object in parts; null: it comes as one object
    verified_at timestamptz,             -- when its object was found to have the announced digest
    PRIMARY KEY (upload_id, name)
);

-- One part of a file that the object store has.
CREATE TABLE upload_parts (
    upload_id   text NOT NULL,
    tenant_id   text NOT NULL REFERENCES tenants,
    file        text NOT NULL,
    number      integer NOT NULL,        -- from 1
    sha256      text NOT NULL,
    tag         text NOT NULL,           -- the object store's, which finishes the object
    PRIMARY KEY (upload_id, file, number),
    FOREIGN KEY (upload_id, file) REFERENCES upload_files ON DELETE CASCADE
);


-- Runs ----------------------------------------------------------------------------------------------------------------

-- A request to train: its spec, its state, and the lease of the driver that moves it on.
CREATE TABLE runs (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,
    name        text NOT NULL,
    spec        jsonb NOT NULL,          -- with every default filled in
    spec_sha    text NOT NULL,
    budget      double precision CHECK (budget >= 0),  -- money, see prices; at first the spec's. null: no bound
    policy_model_id text NOT NULL,
    roles       jsonb NOT NULL DEFAULT '{}',  -- {role: model id} of the models beside the policy, which nothing trains
    preflight   jsonb,                   -- {tasks, samples}: it samples its base once, trains nothing, and is in no list
    desired     text NOT NULL DEFAULT 'run' CHECK (desired IN ('run', 'pause', 'cancel')),
    state       text NOT NULL DEFAULT 'queued'
                CHECK (state IN ('queued', 'running', 'paused', 'succeeded', 'failed', 'cancelled')),
    reason      text,
    stage       integer NOT NULL DEFAULT 0,
    waiting_for text,                    -- what the run waits for now, for a person to read
    rests       tstzmultirange NOT NULL DEFAULT '{}',  -- when it was paused; the last range is open while it is paused
    lease_owner text,
    lease_epoch bigint NOT NULL DEFAULT 0,
    lease_expires timestamptz,
    turn_begun  timestamptz,             -- when a driver began its first turn of this lease; null once that is finished
    takedowns   integer NOT NULL DEFAULT 0,  -- drivers in a row that ended during their first turn
    deadline    timestamptz NOT NULL,
    traceparent text,                    -- W3C trace context of the request that made the run; null: not traced
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,
    ended_at    timestamptz,
    samples_deleted_at timestamptz,      -- its samples and their rows go, the run stays
    thinned_at  timestamptz,             -- retention has deleted the weights of its versions that nobody needed then
    deleted_at  timestamptz              -- no list shows it from then on; its rows go once it has ended
);
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX runs_deleted ON runs (policy_model_id) WHERE deleted_at IS NOT NULL;
CREATE INDEX runs_open ON runs (created_at) WHERE state IN ('queued', 'running', 'paused');
CREATE INDEX runs_by_tenant ON runs (tenant_id, id);
CREATE INDEX runs_by_policy ON runs (policy_model_id);
-- Counts a tenant's runs in each state, and finds the newest in one state, without reading specs.
CREATE INDEX runs_by_state ON runs (tenant_id, state, id);

-- What a queued run waits for, if as many of its tenant's runs have begun and not ended as max_runs allows; else null.
-- A preflight needs no place, and a run that is cancelled none either.
CREATE FUNCTION awaited_place(run runs) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('one of its tenant''s runs to end: %s of %s have begun (max_runs)', begun.runs, t.max_runs)
    FROM tenants t, LATERAL (
        SELECT count(*) AS runs FROM runs o
        WHERE o.tenant_id = t.id AND o.state IN ('running', 'paused') AND o.preflight IS NULL) begun
    WHERE t.id = run.tenant_id AND t.max_runs IS NOT NULL AND begun.runs >= t.max_runs AND run.state = 'queued'
        AND run.preflight IS NULL AND run.desired <> 'cancel' AND run.deadline > now()
$$;

-- What an open run waits for, for a person to read; null where it does not wait. A run that no driver holds waits for
-- one. The function counts the runs of all drivers, which one tenant cannot see, and tells nothing else about them.
CREATE FUNCTION waits_for(run runs) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN run.state NOT IN ('queued', 'running', 'paused') OR run.lease_expires > now() THEN run.waiting_for
        WHEN awaited_place(run) IS NOT NULL THEN awaited_place(run)
        WHEN run.created_at > now() - interval '3 seconds' OR run.lease_expires > now() - interval '3 seconds'
            THEN 'a driver to take it'
        ELSE (
            SELECT CASE count(DISTINCT o.lease_owner) WHEN 0 THEN 'a driver to take it: none is at work'
                ELSE format('a driver to take it: %s at work, with %s runs, and no room for more (HONE_DRIVER_RUNS)',
                            count(DISTINCT o.lease_owner), count(*)) END
            FROM runs o WHERE o.state IN ('running', 'paused') AND o.lease_expires > now()) END
$$;

-- One update of a run's weights: planned by the driver from groups, committed by the trainer with a version.
CREATE TABLE steps (
    run_id      text NOT NULL REFERENCES runs,
    tenant_id   text NOT NULL REFERENCES tenants,
    n           integer NOT NULL,        -- from 1
    epoch       bigint NOT NULL,         -- of the driver's lease that wrote it
    state       text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'committed', 'cancelled')),
    plan        jsonb NOT NULL,          -- see hone.trajectory.plan.StepPlan
    group_ids   bigint[] NOT NULL,       -- in the order of request_no
    dropped_ids bigint[] NOT NULL DEFAULT '{}',
    version_id  text,
    traceparent text,                    -- W3C trace context of the step; null: not traced
    planned_at  timestamptz NOT NULL DEFAULT now(),
    committed_at timestamptz,
    PRIMARY KEY (run_id, n)
);
-- The driver asks at each turn which groups a planned step has taken, however many steps are committed.
CREATE INDEX steps_planned ON steps (run_id) WHERE state = 'planned';

-- One version of what a run collects, such as answers to judge, and never changes; it goes with its run. It comes with a
-- step, in the transaction that plans the step; or a user saved it: the collection `curation`, and its copies in others.
CREATE TABLE collections (
    run_id      text NOT NULL REFERENCES runs ON DELETE CASCADE,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,           -- verification
    version     integer NOT NULL,        -- number of the step; of what a user saved from 1 on, of a copy 0
    state       jsonb NOT NULL DEFAULT '{}', -- of the builder, for the next version
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, name, version)
);

-- The items that a version of a collection added.
CREATE TABLE collection_items (
    run_id      text NOT NULL,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    version     integer NOT NULL,
    place       integer NOT NULL,        -- from 0 within the version
    body        jsonb NOT NULL,
    PRIMARY KEY (run_id, name, version, place),
    FOREIGN KEY (run_id, name, version) REFERENCES collections ON DELETE CASCADE
);


-- What a run learned of an environment, under a name: a collection that other runs begin with. It outlives its run.
CREATE TABLE knowledge (
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    version     integer NOT NULL,
    environment text NOT NULL,
    run_id      text NOT NULL,           -- that learned it
    step        integer NOT NULL,        -- its newest step that taught something; 0: nothing beyond what it began with
    items       jsonb NOT NULL,          -- [{kind, text, task}], as hone.harnesses.mapping.knowledge reads them
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name, version)
);


-- Models --------------------------------------------------------------------------------------------------------------

-- A model in training: its base, its snapshot, the end of its operation log, and the lease of its trainer.
CREATE TABLE models (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    kind        text NOT NULL DEFAULT 'full' CHECK (kind IN ('full', 'lora')),
    base_artifact_id text REFERENCES artifacts,
    base_version_id  text,
    config      jsonb NOT NULL,          -- {seed, optimizer, snapshot_every, keep_versions, ...}; of one that is asked
                                         -- through the gateway and never trained: {frozen, asked}
    next_seq    bigint NOT NULL DEFAULT 1,
    snapshot_seq bigint NOT NULL DEFAULT 0,
    snapshot    jsonb,                   -- manifest of the last snapshot, which covers operations up to snapshot_seq
    lease_owner text,
    lease_epoch bigint NOT NULL DEFAULT 0,
    lease_expires timestamptz,
    turn_begun  timestamptz,             -- when a trainer began its first unit of this lease; null once that is done
    takedowns   integer NOT NULL DEFAULT 0,  -- trainers in a row that ended during their first unit
    created_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz              -- its run is gone; its row stays while another model starts from its versions
);
CREATE INDEX models_by_base ON models (base_artifact_id) WHERE base_artifact_id IS NOT NULL;
CREATE INDEX models_by_base_version ON models (base_version_id) WHERE base_version_id IS NOT NULL;
CREATE UNIQUE INDEX models_asked ON models (coalesce(base_artifact_id, base_version_id))
    WHERE deleted_at IS NULL AND jsonb_exists(config, 'asked');
CREATE INDEX models_deleted ON models (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX models_by_tenant ON models (tenant_id);

-- A model's operation log. The trainer executes it in the order of seq, which has no gaps.
CREATE TABLE operations (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    model_id    text NOT NULL REFERENCES models,
    seq         bigint NOT NULL,
    dedupe_key  text NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('forward_backward', 'optim_step', 'save', 'export')),
    payload     jsonb NOT NULL,
    payload_sha text NOT NULL,
    state       text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'failed')),
    deadline    timestamptz NOT NULL,
    result      jsonb,
    error_category text CHECK (error_category IN ('user', 'server')),
    reason      text,
    waiting_for text,                    -- what its trainer waits for, for a person to read, while it is queued
    replayed    integer NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    deleted_at  timestamptz,             -- of an export: its files are gone, and no list shows it
    UNIQUE (model_id, seq),
    UNIQUE (model_id, dedupe_key)
);
CREATE INDEX operations_queued ON operations (model_id, seq) WHERE state = 'queued';
CREATE INDEX operations_exports ON operations (finished_at) WHERE kind = 'export' AND deleted_at IS NULL;
CREATE INDEX operations_exported ON operations (tenant_id) WHERE kind = 'export';
CREATE INDEX operations_failed ON operations (model_id, seq) WHERE state = 'failed';

-- Published weights of a model: number 0 is the base, number n follows step n.
CREATE TABLE versions (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    model_id    text NOT NULL REFERENCES models,
    seq         bigint NOT NULL,         -- of the save that made it
    number      integer NOT NULL,
    parent_id   text,                    -- no foreign key, as of steps and groups: see below
    state       text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'abandoned')),
    manifest    jsonb NOT NULL,          -- {files: {name: {key, sha256, bytes}}, weights_sha256, tokenizer_sha256}
    weights_deleted_at timestamptz,      -- retention removed its files; the row stays for ancestry
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX versions_live ON versions (model_id, seq) WHERE state = 'live';
CREATE INDEX versions_newest ON versions (model_id, number DESC) WHERE state = 'live';
CREATE INDEX versions_kept ON versions (model_id, number) WHERE weights_deleted_at IS NULL;
CREATE INDEX versions_stored ON versions (tenant_id) WHERE weights_deleted_at IS NULL;
CREATE INDEX versions_by_model ON versions (model_id, id);

-- The bytes of a version's own weights.
CREATE FUNCTION weight_bytes(v versions) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT sum((file.value ->> 'bytes')::bigint)::bigint FROM jsonb_each(v.manifest -> 'files') file
    WHERE file.value ->> 'sha256' = v.manifest ->> 'weights_sha256'
$$;

-- Whether a version's weights may go some time after its run has ended: not the base, not the newest one, and nothing
-- that another model or an export needs.
CREATE FUNCTION expires_with_run(v versions) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT v.weights_deleted_at IS NULL AND v.number > 0
        AND v.id IS DISTINCT FROM (
            SELECT n.id FROM versions n WHERE n.model_id = v.model_id AND n.state = 'live' ORDER BY n.number DESC LIMIT 1)
        AND NOT EXISTS (SELECT FROM models m WHERE m.base_version_id = v.id)
        AND NOT EXISTS (SELECT FROM operations o WHERE o.model_id = v.model_id AND o.kind = 'export'
            AND o.state = 'queued' AND o.payload ->> 'version_id' = v.id)
$$;

-- A version that a model starts from cannot be deleted. Steps, groups and engines name versions and models without
-- foreign keys: whoever deletes a run would have every group and every step searched for each of its versions.
ALTER TABLE models ADD FOREIGN KEY (base_version_id) REFERENCES versions;


-- Samples -------------------------------------------------------------------------------------------------------------

-- A request for n samples of one task. A rollout worker claims it and makes it ready; a step uses it or drops it.
-- A claim changes no indexed column, so with room on its page no index is written.
CREATE TABLE groups (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text NOT NULL REFERENCES runs,
    purpose     text NOT NULL CHECK (purpose IN ('train', 'eval', 'probe', 'pilot')),
    kind        text NOT NULL DEFAULT 'generate' CHECK (kind IN ('generate', 'verify')),  -- the run's tasks, or judging
    request_no  integer NOT NULL,        -- with the purpose it names the noise: "train/17"
    step        integer NOT NULL,        -- it was requested for; an eval's is the last committed one
    series      text NOT NULL DEFAULT '',-- of an eval: greedy, sampled
    source      text NOT NULL DEFAULT '',-- name of the source of its task; '': the task is no mixture
    task_hash   text NOT NULL,
    "order"     json NOT NULL,           -- all that a worker needs: hone.trajectory.order.Order; keys stay in their order
    model_id    text NOT NULL,
    version_id  text,                    -- exactly this one; null: the newest
    state       text NOT NULL DEFAULT 'requested',
    reason      text,
    refused     text,                    -- why no worker will ever make it ready; its run fails with this
    attempt     bigint NOT NULL DEFAULT 0,   -- the claim's epoch
    claim_owner text,
    claim_expires timestamptz,
    memory_ends integer NOT NULL DEFAULT 0,  -- workers that held it when their memory was over; from one on it runs alone
    deadline    timestamptz NOT NULL,
    begun       integer,                 -- number of the newest live version at its first claim: no older one samples it
    oldest      integer,                 -- number of the oldest version that sampled a token, once it is ready
    parts       text[] NOT NULL DEFAULT '{}',
    waves       integer[] NOT NULL DEFAULT '{}',  -- sizes of the waves after the order's first, each before it is sampled
    created_at  timestamptz NOT NULL DEFAULT now(),
    ready_at    timestamptz,
    ready_attempt bigint,                -- of the claim that made it ready: always the last one
    ended_at    timestamptz,
    UNIQUE (run_id, purpose, request_no)
) WITH (fillfactor = 40);
CREATE INDEX groups_claimable ON groups (id) WHERE state = 'requested';
CREATE INDEX groups_open ON groups (run_id, purpose, state) WHERE state IN ('requested', 'ready');
CREATE INDEX groups_expired ON groups (run_id) WHERE state = 'dropped' AND reason = 'expired';

-- Other groups that a refused one is compared with: of its run and purpose, an evaluation's of its step too.
CREATE FUNCTION beside(g groups) RETURNS SETOF groups LANGUAGE sql STABLE AS $$
    SELECT o.* FROM groups o
    WHERE o.run_id = g.run_id AND o.purpose = g.purpose AND (g.purpose = 'train' OR o.step = g.step)
$$;

-- Whether a refused group is left out for what is in it: another one of its source was ready. Of a source that none was
-- ready of yet, a few are left out where other sources' groups are ready.
CREATE FUNCTION refused_for_itself(g groups) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(bool_or(o.ready_at IS NOT NULL AND o.source = g.source)
        OR bool_or(o.ready_at IS NOT NULL) AND count(*) FILTER (WHERE o.refused IS NOT NULL AND o.source = g.source) < 4,
        false)
    FROM beside(g) AS o
$$;

-- Whether a refused group ends its run: none of its source was ready or may yet be, and that are more than a few, or the
-- other sources have none either.
CREATE FUNCTION refused_for_good(g groups) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT bool_or(o.source = g.source AND hopeful) AND (NOT bool_or(hopeful)
        OR count(*) FILTER (WHERE o.refused IS NOT NULL AND o.source = g.source) >= 4)
    FROM beside(g) AS o,
        LATERAL (SELECT o.ready_at IS NOT NULL OR o.state = 'requested' AND o.refused IS NULL AS hopeful) AS h
$$;

-- The transitions that a group's state may take. A trigger refuses every other one.
CREATE TABLE group_transitions (
    from_state  text NOT NULL,
    to_state    text NOT NULL,
    PRIMARY KEY (from_state, to_state)
);
INSERT INTO group_transitions VALUES
    ('requested', 'ready'), ('requested', 'dropped'), ('ready', 'used'), ('ready', 'dropped');

CREATE FUNCTION guard_group_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND NOT EXISTS (
        SELECT FROM group_transitions t WHERE t.from_state = OLD.state AND t.to_state = NEW.state) THEN
        RAISE EXCEPTION 'group %: % to % is not an allowed transition', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state = 'dropped' AND NEW.reason NOT IN ('filtered', 'expired', 'failed', 'surplus', 'cancelled') THEN
        RAISE EXCEPTION 'group %: dropped with reason %', OLD.id, NEW.reason USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER group_transition BEFORE UPDATE OF state ON groups
    FOR EACH ROW EXECUTE FUNCTION guard_group_transition();

-- One sample of a group: where its Parquet row is, and its outcome. Its tenant, run and group have no foreign keys: the
-- statement that writes it has locked the group, and checking again took two thirds of the time.
CREATE TABLE trajectories (
    group_id    bigint NOT NULL,
    index       integer NOT NULL,
    tenant_id   text NOT NULL,
    run_id      text NOT NULL,
    part        text NOT NULL,           -- object key of its Parquet part
    row         integer NOT NULL,        -- within the part
    prompt_tokens integer NOT NULL,
    completion_tokens integer NOT NULL,
    finish_reason text NOT NULL,
    status      text NOT NULL,           -- of its grade
    score       double precision,
    preview     text NOT NULL DEFAULT '',-- first characters of the answer, for search
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, index)
);
CREATE INDEX trajectories_by_run ON trajectories (run_id, group_id, index);

-- One grader's judgement of a trajectory, or of a part of it. No foreign keys, as of trajectories.
CREATE TABLE grades (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL,
    run_id      text NOT NULL,
    group_id    bigint NOT NULL,
    index       integer NOT NULL,
    grader_hash text NOT NULL,
    component   text NOT NULL DEFAULT '',
    level       text NOT NULL DEFAULT 'trajectory' CHECK (level IN ('trajectory', 'turn', 'step')),
    position    integer NOT NULL DEFAULT 0,
    place       text NOT NULL DEFAULT '', -- of a turn: the number of its call; of a step: that, and its first character
                                         -- in the call's text and the one after its last
    regrade_no  integer NOT NULL DEFAULT 0, -- 1: a later grade; 2: a second one by the same judges, with another seed
    status      text NOT NULL CHECK (status IN ('ok', 'no_answer', 'timeout_candidate', 'infra_error',
                                                'judge_error', 'timeout_grader', 'invalid_spec')),
    value       double precision,
    reasons     text[] NOT NULL DEFAULT '{}',
    extracted   text,
    decided_by  text NOT NULL DEFAULT '',
    cost_ms     double precision NOT NULL DEFAULT 0,
    error       text NOT NULL DEFAULT '',  -- kind of the error, see docs/graders.md
    tokens      jsonb NOT NULL DEFAULT '{}', -- that judges used, by model
    evidence    jsonb NOT NULL DEFAULT '[]', -- what judges were asked and answered, and what was run
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (group_id, index, grader_hash, component, level, position, regrade_no),
    CHECK ((value IS NOT NULL) = (status IN ('ok', 'no_answer', 'timeout_candidate'))),
    CHECK (value IS NULL OR (value > '-Infinity' AND value < 'Infinity'))
);

-- Grades that take a while, by judges and programs. A reward service claims one, and stores what comes of it in grades. One
-- that failed for the system's reasons is masked there and parked here: its late grade has regrade_no 1.
CREATE TABLE grading_jobs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL,
    run_id      text NOT NULL,
    group_id    bigint NOT NULL,
    grader_hash text NOT NULL,
    indexes     integer[] NOT NULL,      -- of the trajectories that are graded together
    regrade_no  integer NOT NULL,
    body        bytea NOT NULL,          -- the grader and what it reads, JSON, compressed
    state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'taken', 'parked')),
    attempts    integer NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL DEFAULT now(), -- of taken ones: until when nobody else may take it
    owner       text,                    -- the reward service that took it last
    reason      text,                    -- why there is no grade yet
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (group_id, grader_hash, indexes, regrade_no)
);
CREATE INDEX grading_jobs_by_due ON grading_jobs (due_at);
CREATE INDEX grading_jobs_by_run ON grading_jobs (run_id);

-- Graders that were added under a name. Each content stays; a name means the one that was added last.
CREATE TABLE stored_graders (
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    hash        text NOT NULL,           -- sha256 of its canonical JSON, as grades have it
    grader      text NOT NULL,           -- its JSON
    created_at  timestamptz NOT NULL DEFAULT now(), -- when it was added last
    PRIMARY KEY (tenant_id, name, hash)
);

-- Environment packages under a name. Each content stays as a version of the name, which means the newest one.
CREATE TABLE packages (
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    digest      text NOT NULL,           -- sha256 of its files
    version     integer NOT NULL,        -- counts the contents of the name
    facts       jsonb NOT NULL,          -- domain, summary, tools, tables, tasks, …; format: hone, or tau2 for a domain
    content     bytea NOT NULL,          -- ZIP archive of its files; of a domain also what was found by running it
    created_at  timestamptz NOT NULL DEFAULT now(), -- when it was added last
    PRIMARY KEY (tenant_id, name, digest),
    UNIQUE (tenant_id, name, version)
);

-- Packages that are to be made from hints. A simulation service takes one, and puts what it made into packages. What models
-- used for one is in judge_spending under its id.
CREATE TABLE package_jobs (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,-- that asked for it, and that its questions to models are counted to
    environment text NOT NULL DEFAULT 'package' CHECK (environment IN ('package', 'desk', 'changing_user', 'noise')),
    name        text NOT NULL,           -- that the package gets; of tasks of the desk and lives: of their dataset
    hint        text NOT NULL,
    seed        bigint NOT NULL,
    tasks       integer NOT NULL,        -- that are wanted; of changing_user: lives; of noise: scenes
    sizes       jsonb,                   -- hone.remembering.lives.Sizes, of lives; null: its defaults
    author      jsonb,                   -- hone.spec.roles.AuthorSpec; null: the seeded generator
    trial       jsonb,                   -- hone.spec.roles.TrialSpec; null: no policy tries the tasks
    validator   jsonb,                   -- hone.spec.roles.AuthorSpec, of tasks of the desk and lives; null: the author
    guideline   jsonb,                   -- hone.spec.guidelines.GuidelineSpec, of noise
    within_s    integer NOT NULL DEFAULT 3600, -- from started_at on; then it fails
    state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'taken', 'done', 'failed', 'cancelled')),
    reason      text,                    -- why it failed, or is not done yet
    progress    jsonb NOT NULL DEFAULT '{}', -- phase, done, of
    digest      text,                    -- of what was made
    rows        jsonb,                   -- tasks of the desk or lives that were made, for a dataset; of noise a guideline
    report      jsonb NOT NULL DEFAULT '{}', -- what was tried and kept
    attempts    integer NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL DEFAULT now(), -- of taken ones: until when nobody else may take it
    owner       text,                    -- the simulation service that took it last
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,             -- when it was taken first
    ended_at    timestamptz
);
CREATE INDEX package_jobs_by_due ON package_jobs (due_at) WHERE state IN ('waiting', 'taken');
CREATE INDEX package_jobs_by_tenant ON package_jobs (tenant_id, id);

-- Secrets of a tenant, such as the keys of other services. Nobody can read one through the gateway.
CREATE TABLE secrets (
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    sealed      bytea NOT NULL,          -- encrypted by a key that is not in the database, see hone.sealing
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);

-- A check of a grader: how its verdicts agree with the labels of a set. A reward service claims it, and stores verdicts as
-- they come, so that no pair is asked about twice. It tells of judges, and stays where its run is deleted: no foreign key.
CREATE TABLE grader_checks (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,-- that asked for it; null: a run did
    run_id      text,
    number      integer NOT NULL DEFAULT 0, -- of the run's checks, from 0
    step        integer,                 -- of the run, that was planned last
    grader      text NOT NULL,           -- JSON
    grader_hash text NOT NULL,
    label       text NOT NULL DEFAULT '', -- of a run with several graders: which one, by stage or source
    set_name    text NOT NULL,           -- of hone.graders.labelled_sets, or dataset:NAME
    set_hash    text NOT NULL DEFAULT '',
    asked       jsonb NOT NULL DEFAULT '{}', -- what answered the run's questions when it asked for this, by judge
    judges      jsonb NOT NULL DEFAULT '{}', -- what answered this, by judge; empty: nobody can say
    verdicts    text NOT NULL DEFAULT '',-- of each pair: y, n, x: none, ?: not yet
    counts      jsonb NOT NULL DEFAULT '{}', -- {kind: {tp, fp, fn, tn, invalid}}
    copied_from text,                    -- id of the check of the same grader and judges that this repeats
    state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'taken', 'done', 'failed')),
    reason      text,                    -- why it failed, or is not done yet
    seconds     double precision NOT NULL DEFAULT 0,
    tokens      jsonb NOT NULL DEFAULT '{}', -- that judges used, by model
    attempts    integer NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL DEFAULT now(), -- of taken ones: until when nobody else may take it
    owner       text,                    -- the reward service that took it last
    created_at  timestamptz NOT NULL DEFAULT now(),
    ended_at    timestamptz,
    UNIQUE (run_id, number)
);
CREATE INDEX grader_checks_by_due ON grader_checks (due_at) WHERE state IN ('waiting', 'taken');
CREATE INDEX grader_checks_by_end ON grader_checks (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX grader_checks_by_tenant ON grader_checks (tenant_id, id);

-- Endpoints that graders ask as judges, by the name under which graders ask them.
CREATE TABLE judges (
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    url         text NOT NULL,
    model       text NOT NULL,           -- as the endpoint names it
    secret      text,                    -- name of the secret that holds its key; null: it needs none
    terms       jsonb NOT NULL,          -- timeout, attempts, limits and prices, see hone.client.judge_resources
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);

-- What judges answered, by the hash of the whole question, so that equal questions get one answer.
CREATE TABLE judge_answers (
    tenant_id   text NOT NULL REFERENCES tenants,
    hash        bytea NOT NULL,
    judge       text NOT NULL,
    reply       jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, hash)
);
CREATE INDEX judge_answers_by_age ON judge_answers (created_at);

-- What the judges of a run, or of a job that makes a package, used so far; limits of a judge hold for each of them.
CREATE TABLE judge_spending (
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text NOT NULL,           -- or id of a package job
    judge       text NOT NULL,
    answers     bigint NOT NULL DEFAULT 0,
    tokens      bigint NOT NULL DEFAULT 0,
    cost        double precision NOT NULL DEFAULT 0,
    pinned      text NOT NULL DEFAULT '', -- what answered last, as judges.answer's hash holds it; empty: nobody can say
    PRIMARY KEY (run_id, judge)
);

-- A simulator of users, made of logged behaviour. A simulation service claims it, and makes it beside other work.
CREATE TABLE audience_fits (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,-- that asked for it, and that its questions to models are counted to
    dataset     text NOT NULL,           -- name or id of the rows of behaviour
    params      jsonb NOT NULL,          -- hone.audiences.training.FitParams
    reasoner    jsonb,                   -- hone.audiences.reasoning.ReasonerSpec; null: none is asked
    state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'taken', 'done', 'failed')),
    reason      text,                    -- why it failed, or is not done yet
    report      jsonb NOT NULL DEFAULT '{}', -- what was found
    written     jsonb NOT NULL DEFAULT '{}', -- what a model added while it is made: hypotheses, sentences
    simulator   jsonb,                   -- hone.audiences.stored: numbers of both branches, and users; null: not yet
    fusion      jsonb,                   -- the weights; null: not calibrated
    attempts    integer NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL DEFAULT now(), -- of taken ones: until when nobody else may take it
    owner       text,                    -- the simulation service that took it last
    created_at  timestamptz NOT NULL DEFAULT now(),
    ended_at    timestamptz
);
CREATE INDEX audience_fits_by_due ON audience_fits (due_at) WHERE state IN ('waiting', 'taken');
CREATE INDEX audience_fits_by_tenant ON audience_fits (tenant_id, id);

-- The decision policies that a fit mined of behaviour.
CREATE TABLE audience_policies (
    fit_id      text NOT NULL REFERENCES audience_fits ON DELETE CASCADE,
    id          text NOT NULL,
    tenant_id   text NOT NULL REFERENCES tenants,
    record      jsonb NOT NULL,          -- hone.audiences.decision_policies.DecisionPolicy
    text        text NOT NULL,           -- what the reasoner reads
    PRIMARY KEY (fit_id, id)
);

-- Groups of which a fit said something, with all that their fusion is made of, so that it can be made again without a model.
CREATE TABLE audience_groups (
    id          text PRIMARY KEY,
    fit_id      text NOT NULL REFERENCES audience_fits ON DELETE CASCADE,
    tenant_id   text NOT NULL REFERENCES tenants,
    purpose     text NOT NULL CHECK (purpose IN ('calibration', 'simulation')),
    asked       text NOT NULL,           -- sha256 of what was asked: equal questions to one fit are one row
    spec        jsonb NOT NULL,          -- merchant, segment, strategy and seed; of calibration the merchant's id
    stratum     text NOT NULL,
    users       integer NOT NULL,
    personas    text[] NOT NULL,         -- ids of the users about whom the reasoner was asked
    q           jsonb,                   -- what it said, by persona and step; null of one: not readable. null: no reasoner
    anchored    jsonb,                   -- the same, drawn towards the evidence
    fitted      jsonb NOT NULL,          -- rate of each step
    reasoned    jsonb,                   -- the same
    rates       jsonb,                   -- measured ones, of calibration
    gap         double precision,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (fit_id, asked)
);
CREATE INDEX audience_groups_newest ON audience_groups (fit_id, purpose, created_at);

-- Finished calls of an open group, for the next worker that claims it. No foreign key, as of trajectories.
CREATE TABLE journal (
    group_id    bigint NOT NULL,
    index       integer NOT NULL,
    call        text NOT NULL,           -- its number
    attempt     bigint NOT NULL,
    body        bytea NOT NULL,          -- JSON, see hone.trajectory.journal
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, index, call)
);

-- What the policy of a run is asked in a task, from its first ready group on, for the value service. No foreign key, as of
-- trajectories.
CREATE TABLE prompts (
    run_id      text NOT NULL,
    task_hash   text NOT NULL,
    tenant_id   text NOT NULL,
    text        text NOT NULL,           -- of the environment's first messages; of a long one the end
    features_by text,                    -- embedder and adapter that made `features`; null: none did yet
    features    bytea,                   -- float32, little-endian
    PRIMARY KEY (run_id, task_hash)
);

-- The outcome of each sample, once, however many graders graded it and however often.
CREATE VIEW outcomes WITH (security_invoker = true) AS
    SELECT g.run_id, g.purpose, g.task_hash, g.step, g.state, g.version_id, g.id AS group_id, t.index, t.status,
        t.score AS value
    FROM trajectories t JOIN groups g ON g.id = t.group_id;


-- Who answers ---------------------------------------------------------------------------------------------------------

-- A name, hone/NAME, that clients ask instead of a model: one of the candidates answers, whichever the objective prefers.
CREATE TABLE routes (
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    candidates  jsonb NOT NULL,          -- [{model, cost}]
    objective   jsonb NOT NULL,          -- {weight}, {target} or {max_cost}
    exploration double precision NOT NULL CHECK (exploration BETWEEN 0 AND 1),
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);

-- Which candidate answered a request, and why. It is written before the candidate samples.
CREATE TABLE decisions (
    id          text PRIMARY KEY,        -- of the answer
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,
    route       text NOT NULL,
    prompt      text NOT NULL,           -- as the value service compares prompts: of a long one the end
    model       text NOT NULL,           -- as the route names it
    subject_id  text NOT NULL,           -- the registered model or the version
    objective   jsonb NOT NULL,
    considered  jsonb NOT NULL,          -- [{model, subject_id, cost, p, score, rows, doubt}], or [{model, gone}]
    reason      text NOT NULL,
    explored    boolean NOT NULL,
    propensity  double precision NOT NULL,   -- chance with which this candidate was drawn
    prompt_tokens integer,               -- null: the answer has not ended, or it broke off
    completion_tokens integer,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX decisions_by_route ON decisions (tenant_id, route, id);
CREATE INDEX decisions_by_time ON decisions USING brin (created_at);

-- How good the answer of a decision was, as a client says, from 0 to 1. It counts as an outcome of the model that answered.
CREATE TABLE feedback (
    decision_id text PRIMARY KEY REFERENCES decisions ON DELETE CASCADE,
    tenant_id   text NOT NULL REFERENCES tenants,
    subject_id  text NOT NULL,
    score       double precision NOT NULL CHECK (score BETWEEN 0 AND 1),
    comment     text NOT NULL DEFAULT '',
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX feedback_by_subject ON feedback (subject_id, decision_id);


-- Who serves ----------------------------------------------------------------------------------------------------------

-- One engine process. It alone writes the row.
CREATE TABLE engines (
    id          text PRIMARY KEY,
    address     text NOT NULL,
    kind        text NOT NULL,           -- native, vllm
    build       jsonb NOT NULL DEFAULT '{}',
    load        double precision,        -- share of the last second or so in which it computed
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz NOT NULL DEFAULT now()
);

-- One model that an engine holds or refuses, and how much it has generated for it.
CREATE TABLE engine_models (
    engine_id   text NOT NULL REFERENCES engines ON DELETE CASCADE,
    model_id    text NOT NULL,           -- it may be deleted while the engine holds it
    version_id  text,
    refused_version_id text,
    refused_reason text,
    gap_mean    double precision,        -- nats between the engine's and the trainer's log-probs of the probe, when the
    gap_max     double precision,        --   engine took its version over; null: no version, or a version without probe
    loads       bigint NOT NULL DEFAULT 0,
    generated_tokens bigint NOT NULL DEFAULT 0,
    generated_samples bigint NOT NULL DEFAULT 0,
    computed_s  double precision NOT NULL DEFAULT 0,  -- since the engine's row was made
    loaded_at   timestamptz,
    PRIMARY KEY (engine_id, model_id)
);

-- One process that nobody inside the stack calls: it reports here that it is alive.
CREATE TABLE workers (
    id           text PRIMARY KEY,         -- its name under a supervisor, or a name of its own
    kind         text NOT NULL CHECK (kind IN ('trainer', 'rollout', 'sinks', 'door')),
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now()
);


-- What is reported ----------------------------------------------------------------------------------------------------

-- One metric of one step of a run.
CREATE TABLE metrics (
    run_id      text NOT NULL REFERENCES runs,
    tenant_id   text NOT NULL REFERENCES tenants,
    step        integer NOT NULL,
    name        text NOT NULL,
    value       double precision NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, name, step)
);

-- One evaluation of one source of held-out tasks, task by task.
CREATE TABLE evaluations (
    run_id      text NOT NULL REFERENCES runs,
    tenant_id   text NOT NULL REFERENCES tenants,
    step        integer NOT NULL,
    source      text NOT NULL,           -- '' where the evaluation has one without a name
    series      text NOT NULL,           -- greedy, sampled
    tasks       text[] NOT NULL,         -- the first digits of each task's content hash
    scores      double precision[] NOT NULL,  -- mean of each task's samples; null: none has a score
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, step, source, series)
);

-- What happened to a run, for a person to read.
CREATE TABLE events (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text NOT NULL REFERENCES runs,
    kind        text NOT NULL,
    step        integer,
    message     text NOT NULL,
    data        jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX events_by_run ON events (run_id, id);
CREATE INDEX events_by_time ON events USING brin (created_at);

-- What a tenant used.
CREATE TABLE usage (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text,                    -- the run may be deleted: what it used is still billed
    key_id      text REFERENCES api_keys,
    kind        text NOT NULL,           -- prompt_tokens, completion_tokens, scored_tokens, trained_tokens, trainer_s,
                                         -- grades, grading_s
    amount      double precision NOT NULL,
    summed      boolean NOT NULL DEFAULT false,  -- all of an hour that is over, of a run, key and kind
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX usage_by_tenant ON usage (tenant_id, created_at);
CREATE INDEX usage_by_run ON usage (tenant_id, run_id);
CREATE INDEX usage_unsummed ON usage (created_at) WHERE NOT summed;

-- The price lists of the stack. Each holds from its moment on, until the next. What was used earlier keeps its cost.
CREATE TABLE prices (
    since       timestamptz PRIMARY KEY DEFAULT now(),
    currency    text NOT NULL,
    prompt_tokens double precision NOT NULL DEFAULT 0 CHECK (prompt_tokens >= 0),          -- of a million, as the
    completion_tokens double precision NOT NULL DEFAULT 0 CHECK (completion_tokens >= 0),  --   next three
    scored_tokens double precision NOT NULL DEFAULT 0 CHECK (scored_tokens >= 0),
    trained_tokens double precision NOT NULL DEFAULT 0 CHECK (trained_tokens >= 0),
    grading_s   double precision NOT NULL DEFAULT 0 CHECK (grading_s >= 0),                -- of a second, as the last
    trainer_s   double precision NOT NULL DEFAULT 0 CHECK (trainer_s >= 0)
);
INSERT INTO prices (since, currency) VALUES ('-infinity', 'EUR');

-- What each usage cost, at the price of its moment. Every sum of money is a sum over this.
CREATE VIEW costs WITH (security_invoker = true) AS
    SELECT u.tenant_id, u.run_id, u.key_id, u.kind, u.amount, u.created_at, u.amount * CASE u.kind
        WHEN 'prompt_tokens' THEN p.prompt_tokens / 1e6 WHEN 'completion_tokens' THEN p.completion_tokens / 1e6
        WHEN 'scored_tokens' THEN p.scored_tokens / 1e6 WHEN 'trained_tokens' THEN p.trained_tokens / 1e6
        WHEN 'grading_s' THEN p.grading_s WHEN 'trainer_s' THEN p.trainer_s ELSE 0 END AS cost
    FROM usage u, LATERAL (SELECT * FROM prices WHERE since <= u.created_at ORDER BY since DESC LIMIT 1) p;

-- A place that run metrics are copied to.
CREATE TABLE sinks (
    name        text PRIMARY KEY,       -- its entry in HONE_SINKS, without user and password
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- A run that a sink has open: from the transaction that deletes its first unsent points until the sink has its end. No
-- foreign keys, as of unsent_points.
CREATE TABLE sink_runs (
    sink        text NOT NULL,
    run_id      text NOT NULL,
    PRIMARY KEY (sink, run_id)
);

-- A metric that a sink does not have yet, from the transaction that writes the metric on, so that no restart loses one.
-- No foreign keys: recording a metric must not fail because a sink is being removed.
CREATE TABLE unsent_points (
    sink        text NOT NULL,
    run_id      text NOT NULL,
    step        integer NOT NULL,
    name        text NOT NULL,
    PRIMARY KEY (sink, run_id, step, name)
);

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


-- What is deleted -----------------------------------------------------------------------------------------------------

-- A run, its samples alone, a model, dataset, export or checkpoint that a request deleted. The request marks it and writes
-- this row; a driver removes its rows in batches and has its objects removed. The row stays: it tells the name of what
-- usage was for.
CREATE TABLE deletions (
    subject_id  text PRIMARY KEY,        -- of samples: the run's id and "-samples"
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,
    kind        text NOT NULL CHECK (
        kind IN ('run', 'preflight', 'samples', 'model', 'dataset', 'export', 'checkpoint')),
    name        text NOT NULL,
    removed_rows bigint NOT NULL DEFAULT 0,
    after       text NOT NULL DEFAULT '',  -- the last object of the subject that was noted for removal
    requested_at timestamptz NOT NULL DEFAULT now(),
    worked_at   timestamptz NOT NULL DEFAULT now(),  -- when a driver last did a batch of it: deletions take turns
    finished_at timestamptz
);
CREATE INDEX deletions_unfinished ON deletions (worked_at) WHERE finished_at IS NULL;
CREATE INDEX deletions_by_tenant ON deletions (tenant_id, requested_at);

-- Why a deletion cannot go on yet, for a person to read; null: it can, or it has finished.
CREATE FUNCTION deletion_waits_for(d deletions) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN d.finished_at IS NOT NULL THEN NULL
    WHEN d.kind IN ('run', 'preflight') THEN (
        SELECT 'the run to end' FROM runs r WHERE r.id = d.subject_id AND r.state IN ('queued', 'running', 'paused'))
    WHEN d.kind = 'model' THEN (
        SELECT format('the end of %s models that started from it: delete their runs', count(*))
        FROM models m WHERE m.base_artifact_id = d.subject_id HAVING count(*) > 0)
    END
$$;


-- The object store ----------------------------------------------------------------------------------------------------

-- A stored object that no row names, and since when. Each key is written once and named soon after, or never: an object
-- that was noted longer ago than any upload or lease lasts, and is still unnamed, is removed.
CREATE TABLE orphans (
    key         text PRIMARY KEY,
    seen_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orphans_oldest ON orphans (seen_at);

-- One row: how far the sweep that finds orphans has come. Its identity is in the object store as well, so that the sweep
-- leaves a store alone whose objects belong to another database.
CREATE TABLE orphan_sweeps (
    identity    text PRIMARY KEY DEFAULT md5(random()::text || clock_timestamp()::text),
    due_at      timestamptz NOT NULL DEFAULT now(),
    begun_at    timestamptz NOT NULL DEFAULT now(),  -- when the sweep was at the first key
    after       text NOT NULL DEFAULT ''
);
INSERT INTO orphan_sweeps DEFAULT VALUES;

-- The size of each object that a row names with its bytes: files of models, datasets, open uploads, versions, snapshots
-- and exports.
CREATE VIEW stored_files WITH (security_invoker = true) AS
    SELECT a.tenant_id, file.value ->> 'key' AS key, (file.value ->> 'bytes')::bigint AS bytes
        FROM artifacts a, jsonb_each(a.manifest -> 'files') file
    UNION SELECT v.tenant_id, file.value ->> 'key', (file.value ->> 'bytes')::bigint
        FROM versions v, jsonb_each(v.manifest -> 'files') file WHERE v.weights_deleted_at IS NULL
    UNION SELECT m.tenant_id, file.value ->> 'key', (file.value ->> 'bytes')::bigint
        FROM models m, jsonb_each(m.snapshot -> 'files') file
    UNION SELECT o.tenant_id, file.value ->> 'key', (file.value ->> 'bytes')::bigint
        FROM operations o, jsonb_each(o.result -> 'files') file WHERE o.kind = 'export'
    UNION SELECT f.tenant_id, f.key, f.bytes FROM uploads u JOIN upload_files f ON f.upload_id = u.id
        WHERE u.state IN ('open', 'refused') AND f.key IS NOT NULL;

-- What a run, a model of a run or an artifact occupies in the object store, as the sweep found it when it listed all its
-- objects last. `begun_*` are the sums so far while the sweep is in the middle of them.
CREATE TABLE stored_sizes (
    owner_id    text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    bytes       bigint,
    objects     bigint,
    begun_bytes bigint NOT NULL,
    begun_objects bigint NOT NULL,
    measured_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX stored_sizes_by_tenant ON stored_sizes (tenant_id, bytes);

-- What counts for a tenant's max_stored_bytes: its files, and the samples of its runs as the sweep measured them last.
CREATE FUNCTION stored_bytes(tenant text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (SELECT coalesce(sum(f.bytes), 0) FROM stored_files f WHERE f.tenant_id = tenant)::bigint + (
        SELECT coalesce(sum(s.bytes), 0) FROM stored_sizes s JOIN runs r ON r.id = s.owner_id
        WHERE s.tenant_id = tenant AND r.deleted_at IS NULL)::bigint
$$;

-- Every object that rows of these runs, models, artifacts and uploads name; of a version whose weights were deleted,
-- the rest.
CREATE FUNCTION named_keys(owners text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT unnest(g.parts) FROM groups g WHERE g.run_id = ANY (owners)
    UNION ALL SELECT t.part FROM trajectories t WHERE t.run_id = ANY (owners)
    UNION ALL SELECT jsonb_array_elements_text(s.plan -> 'parts') FROM steps s WHERE s.run_id = ANY (owners)
    UNION ALL SELECT file.value ->> 'key' FROM versions v, jsonb_each(v.manifest -> 'files') file
        WHERE v.model_id = ANY (owners)
            AND (v.weights_deleted_at IS NULL OR file.value ->> 'sha256' <> v.manifest ->> 'weights_sha256')
    UNION ALL SELECT file.value ->> 'key' FROM models m, jsonb_each(m.snapshot -> 'files') file
        WHERE m.id = ANY (owners)
    UNION ALL SELECT file.value ->> 'key' FROM operations o, jsonb_each(o.result -> 'files') file
        WHERE o.model_id = ANY (owners) AND o.kind = 'export'
    UNION ALL SELECT file.value ->> 'key' FROM artifacts a, jsonb_each(a.manifest -> 'files') file
        WHERE a.id = ANY (owners)
    UNION ALL SELECT f.key FROM uploads u JOIN upload_files f ON f.upload_id = u.id
        WHERE u.artifact_id = ANY (owners) AND u.state IN ('open', 'refused') AND f.key IS NOT NULL
$$;


-- Who may do what -----------------------------------------------------------------------------------------------------

GRANT USAGE ON SCHEMA public TO hone_gateway, hone_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO hone_gateway, hone_worker;
REVOKE ALL ON FUNCTION key_holder, operates, single_tenant, delete_tenant FROM PUBLIC;
GRANT EXECUTE ON FUNCTION key_holder, operates, single_tenant TO hone_gateway, hone_worker;
GRANT EXECUTE ON FUNCTION delete_tenant TO hone_gateway;

-- A worker may write every table, but changes no collection and no audit, and makes no second sweep.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hone_worker;
REVOKE UPDATE, DELETE ON collections, collection_items FROM hone_worker;
REVOKE INSERT, DELETE ON orphan_sweeps FROM hone_worker;
REVOKE UPDATE, DELETE ON audit_log FROM hone_worker;
REVOKE INSERT, UPDATE, DELETE ON schema_version FROM hone_worker;

-- The gateway writes the rows that requests make. It may read the others, but for the journal, sinks and orphans.
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys, artifacts, uploads, upload_files, upload_parts, runs, models,
    operations, events, outcomes, routes, feedback, judges, stored_graders, packages TO hone_gateway;
GRANT SELECT, INSERT ON grader_checks TO hone_gateway;
GRANT SELECT, INSERT, UPDATE (state, reason, ended_at) ON package_jobs TO hone_gateway;
GRANT SELECT, INSERT, DELETE ON audience_fits, knowledge TO hone_gateway;
GRANT SELECT ON audience_policies, audience_groups TO hone_gateway;
GRANT SELECT, INSERT, DELETE, UPDATE (prompt_tokens, completion_tokens) ON decisions TO hone_gateway;
GRANT SELECT, INSERT ON deletions TO hone_gateway;
GRANT SELECT (tenant_id, name, updated_at), INSERT, UPDATE, DELETE ON secrets TO hone_gateway;
GRANT SELECT ON judge_spending TO hone_gateway;
GRANT SELECT (tenant_id, run_id, group_id, indexes, regrade_no, state, attempts, due_at, reason, created_at) ON grading_jobs
    TO hone_gateway;
GRANT SELECT ON stored_sizes TO hone_gateway;
GRANT INSERT, UPDATE (weights_deleted_at) ON versions TO hone_gateway;
GRANT INSERT ON collections, collection_items TO hone_gateway;
GRANT SELECT ON tenants, api_keys, steps, collections, collection_items, versions, groups, group_transitions,
    trajectories, grades, prompts, engines, engine_models, workers, metrics, evaluations, usage TO hone_gateway;
GRANT SELECT, INSERT ON audit_log, prices TO hone_gateway;
GRANT SELECT ON costs, stored_files TO hone_gateway;
GRANT INSERT, UPDATE (revoked_at, last_used_at) ON api_keys TO hone_gateway;
GRANT INSERT (id, kind), UPDATE (heartbeat_at), DELETE ON workers TO hone_gateway;
GRANT INSERT (id, name), UPDATE (name, suspended_at, max_runs, max_running_groups, max_tokens_a_day, max_stored_bytes,
    month_budget) ON tenants TO hone_gateway;

-- The gateway sets hone.tenant in each transaction and sees the rows of that tenant only. Engines and workers serve
-- everybody: each tenant may know that they are alive and how busy they are, and of the models they hold its own.
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['tenants', 'api_keys', 'idempotency_keys', 'audit_log', 'artifacts', 'uploads', 'upload_files',
                             'upload_parts', 'runs', 'steps', 'collections', 'collection_items', 'models',
                             'operations', 'versions', 'groups', 'trajectories', 'grades', 'prompts', 'engine_models',
                             'metrics', 'evaluations', 'events', 'usage', 'deletions', 'stored_sizes', 'routes',
                             'decisions', 'feedback', 'stored_graders', 'grading_jobs', 'grader_checks', 'secrets', 'judges', 'judge_answers',
                             'audience_fits', 'audience_policies', 'audience_groups', 'knowledge', 'packages', 'package_jobs',
                             'judge_spending'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY every_tenant ON %I TO hone_worker USING (true)', t);
        IF t NOT IN ('tenants', 'engine_models') THEN
            EXECUTE format(
                'CREATE POLICY own_tenant ON %I TO hone_gateway USING (tenant_id = current_setting(''hone.tenant''))', t);
        END IF;
    END LOOP;
END $$;
CREATE POLICY own_tenant ON tenants FOR SELECT TO hone_gateway USING (id = current_setting('hone.tenant'));
CREATE POLICY operator ON tenants TO hone_gateway USING (operates());
ALTER TABLE prices ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON prices FOR SELECT TO hone_gateway, hone_worker USING (true);
CREATE POLICY operator ON prices FOR INSERT TO hone_gateway WITH CHECK (operates());
CREATE POLICY own_tenant ON engine_models TO hone_gateway
    USING (EXISTS (SELECT FROM models m WHERE m.id = model_id));  -- the gateway sees its tenant's models only
ALTER TABLE workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY every_process ON workers TO hone_worker USING (true);
CREATE POLICY seen ON workers FOR SELECT TO hone_gateway USING (true);
CREATE POLICY doors ON workers TO hone_gateway USING (kind = 'door');  -- the door has the gateway's role
