-- The control rows. Rows are the truth, messages are hints; time is now() of this server.
-- Two roles use them: hone_gateway sees one tenant per transaction, hone_worker sees all.

CREATE TABLE tenants (
    id          text PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    max_running_groups integer NOT NULL DEFAULT 4096,
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    name        text NOT NULL,
    prefix      text NOT NULL,
    hash        bytea NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    revoked_at  timestamptz
);

CREATE TABLE idempotency_keys (
    tenant_id   text NOT NULL REFERENCES tenants,
    key         text NOT NULL,
    request_sha bytea NOT NULL,
    status      integer,
    response    jsonb,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
);

-- Immutable inputs: base models, datasets, graders. Files lie in the object store under the manifest's keys.
CREATE TABLE artifacts (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    kind        text NOT NULL CHECK (kind IN ('base_model', 'dataset', 'grader')),
    name        text NOT NULL,
    hash        text NOT NULL,
    manifest    jsonb NOT NULL,          -- {files: {name: {key, sha256, bytes}}, ...}
    report      jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, kind, name)
);

CREATE TABLE runs (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    key_id      text REFERENCES api_keys,
    name        text NOT NULL,
    spec        jsonb NOT NULL,          -- resolved
    spec_sha    text NOT NULL,
    desired     text NOT NULL DEFAULT 'run' CHECK (desired IN ('run', 'pause', 'cancel')),
    state       text NOT NULL DEFAULT 'queued'
                CHECK (state IN ('queued', 'running', 'paused', 'succeeded', 'failed', 'cancelled')),
    reason      text,
    policy_model_id text NOT NULL,
    stage       integer NOT NULL DEFAULT 0,
    waiting_for text,                    -- what the run waits for now, for a person to read
    lease_owner text,
    lease_epoch bigint NOT NULL DEFAULT 0,
    lease_expires timestamptz,
    deadline    timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,
    ended_at    timestamptz
);
CREATE INDEX runs_open ON runs (created_at) WHERE state IN ('queued', 'running', 'paused');
CREATE INDEX runs_by_tenant ON runs (tenant_id, id);

-- A thing in training.
CREATE TABLE models (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    kind        text NOT NULL DEFAULT 'full' CHECK (kind IN ('full')),
    base_artifact_id text REFERENCES artifacts,
    base_version_id  text,
    config      jsonb NOT NULL,          -- {seed, optimizer, snapshot_every, keep_versions, ...}
    next_seq    bigint NOT NULL DEFAULT 1,
    snapshot_seq bigint NOT NULL DEFAULT 0,
    snapshot    jsonb,                   -- manifest of the last snapshot; covers operations up to snapshot_seq
    lease_owner text,
    lease_epoch bigint NOT NULL DEFAULT 0,
    lease_expires timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now()
);

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
    replayed    integer NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    UNIQUE (model_id, seq),
    UNIQUE (model_id, dedupe_key)
);
CREATE INDEX operations_queued ON operations (model_id, seq) WHERE state = 'queued';

CREATE TABLE versions (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    model_id    text NOT NULL REFERENCES models,
    seq         bigint NOT NULL,         -- of the save that made it
    number      integer NOT NULL,        -- 0 is the base, n follows step n
    parent_id   text REFERENCES versions,
    state       text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'abandoned')),
    manifest    jsonb NOT NULL,          -- {files: {name: {key, sha256, bytes}}, weights_sha256, tokenizer_sha256}
    weights_deleted_at timestamptz,      -- retention removed its files; the row stays for ancestry
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX versions_live ON versions (model_id, seq) WHERE state = 'live';
CREATE INDEX versions_newest ON versions (model_id, number DESC) WHERE state = 'live';

-- One row for each engine process and each model it holds; written by the engine alone.
CREATE TABLE engines (
    id          text PRIMARY KEY,
    address     text NOT NULL,
    kind        text NOT NULL,           -- native
    build       jsonb NOT NULL DEFAULT '{}',
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE engine_models (
    engine_id   text NOT NULL REFERENCES engines ON DELETE CASCADE,
    model_id    text NOT NULL REFERENCES models,
    version_id  text REFERENCES versions,
    refused_version_id text,
    refused_reason text,
    loads       bigint NOT NULL DEFAULT 0,
    generated_tokens bigint NOT NULL DEFAULT 0,
    generated_samples bigint NOT NULL DEFAULT 0,
    loaded_at   timestamptz,
    PRIMARY KEY (engine_id, model_id)
);

CREATE TABLE groups (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text NOT NULL REFERENCES runs,
    purpose     text NOT NULL CHECK (purpose IN ('train', 'eval', 'probe', 'pilot')),
    request_no  integer NOT NULL,        -- with the purpose it names the noise: "train/17"
    step        integer NOT NULL,        -- the step it was requested for; an eval's is the last committed one
    series      text NOT NULL DEFAULT '',-- of an eval: greedy, sampled
    task        jsonb NOT NULL,          -- {environment, params, seed, item}
    task_hash   text NOT NULL,
    n           integer NOT NULL,
    sampling    jsonb NOT NULL,
    grader      jsonb,                   -- null: the environment's own
    model_id    text NOT NULL REFERENCES models,
    version_id  text REFERENCES versions,-- exactly this one; null: the newest
    source      text NOT NULL DEFAULT 'worker' CHECK (source IN ('worker', 'external')),
    wave        integer NOT NULL DEFAULT 0,
    prior       jsonb,
    work        text NOT NULL DEFAULT 'generate' CHECK (work IN ('generate', 'grade')),
    state       text NOT NULL DEFAULT 'requested',
    reason      text,
    attempt     bigint NOT NULL DEFAULT 0,   -- the claim's epoch
    claim_owner text,
    claim_expires timestamptz,
    deadline    timestamptz NOT NULL,
    parts       text[] NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    ready_at    timestamptz,
    refused     text,                    -- why no worker will ever make it ready; its run fails with this
    ready_attempt bigint,                -- of the claimant that made it ready: always the last one
    ended_at    timestamptz,
    UNIQUE (run_id, purpose, request_no)
);
CREATE INDEX groups_claimable ON groups (id) WHERE state = 'requested';
CREATE INDEX groups_open ON groups (run_id, purpose, state) WHERE state IN ('requested', 'ready');

-- The one table of allowed transitions.
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

CREATE TABLE steps (
    run_id      text NOT NULL REFERENCES runs,
    tenant_id   text NOT NULL REFERENCES tenants,
    n           integer NOT NULL,        -- from 1
    epoch       bigint NOT NULL,         -- the driver's lease epoch that wrote it
    state       text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'committed', 'cancelled')),
    plan        jsonb NOT NULL,          -- see hone.trajectory.plan.StepPlan
    group_ids   bigint[] NOT NULL,       -- exactly these, in (request_no) order
    dropped_ids bigint[] NOT NULL DEFAULT '{}',
    version_id  text REFERENCES versions,
    planned_at  timestamptz NOT NULL DEFAULT now(),
    committed_at timestamptz,
    PRIMARY KEY (run_id, n)
);

CREATE TABLE trajectories (
    group_id    bigint NOT NULL REFERENCES groups,
    index       integer NOT NULL,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text NOT NULL REFERENCES runs,
    part        text NOT NULL,           -- object key of its Parquet part
    row         integer NOT NULL,        -- row inside the part
    prompt_tokens integer NOT NULL,
    completion_tokens integer NOT NULL,
    finish_reason text NOT NULL,
    status      text NOT NULL,           -- grade status
    score       double precision,
    preview     text NOT NULL DEFAULT '',-- first characters of the answer, for search
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, index)
);
CREATE INDEX trajectories_by_run ON trajectories (run_id, group_id, index);

CREATE TABLE journal (
    group_id    bigint NOT NULL REFERENCES groups,
    index       integer NOT NULL,
    call        integer NOT NULL,
    attempt     bigint NOT NULL,
    body        bytea NOT NULL,          -- JSON, see hone.trajectory.journal
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, index, call)
);

CREATE TABLE grades (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text NOT NULL REFERENCES runs,
    group_id    bigint NOT NULL REFERENCES groups,
    index       integer NOT NULL,
    grader_hash text NOT NULL,
    component   text NOT NULL DEFAULT '',
    level       text NOT NULL DEFAULT 'trajectory',
    position    integer NOT NULL DEFAULT 0,
    regrade_no  integer NOT NULL DEFAULT 0,
    status      text NOT NULL CHECK (status IN ('ok', 'no_answer', 'timeout_candidate', 'infra_error',
                                                'judge_error', 'timeout_grader', 'invalid_spec')),
    value       double precision,
    reasons     text[] NOT NULL DEFAULT '{}',
    extracted   text,
    decided_by  text NOT NULL DEFAULT '',
    cost_ms     double precision NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (group_id, index, grader_hash, component, level, position, regrade_no),
    CHECK ((value IS NOT NULL) = (status IN ('ok', 'no_answer', 'timeout_candidate'))),
    CHECK (value IS NULL OR (value > '-Infinity' AND value < 'Infinity'))
);

CREATE VIEW outcomes AS
    SELECT g.run_id, g.purpose, g.task_hash, g.step, g.state, g.version_id, g.id AS group_id, r.index, r.status, r.value
    FROM grades r JOIN groups g ON g.id = r.group_id
    WHERE r.component = '' AND r.level = 'trajectory';

CREATE TABLE metrics (
    run_id      text NOT NULL REFERENCES runs,
    tenant_id   text NOT NULL REFERENCES tenants,
    step        integer NOT NULL,
    name        text NOT NULL,
    value       double precision NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, name, step)
);

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

CREATE TABLE usage (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    run_id      text REFERENCES runs,
    key_id      text REFERENCES api_keys,
    kind        text NOT NULL,           -- prompt_tokens, completion_tokens, trained_tokens, trainer_s, grades
    amount      double precision NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX usage_by_tenant ON usage (tenant_id, created_at);

-- Row-level security: the gateway sets hone.tenant in each transaction and sees only that tenant's rows.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hone_gateway') THEN CREATE ROLE hone_gateway NOLOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hone_worker') THEN CREATE ROLE hone_worker NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO hone_gateway, hone_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hone_gateway, hone_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO hone_gateway, hone_worker;
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['idempotency_keys', 'artifacts', 'runs', 'models', 'operations', 'versions', 'groups',
                             'steps', 'trajectories', 'grades', 'metrics', 'events', 'usage'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY own_tenant ON %I TO hone_gateway USING (tenant_id = current_setting(''hone.tenant''))', t);
        EXECUTE format('CREATE POLICY every_tenant ON %I TO hone_worker USING (true)', t);
    END LOOP;
END $$;
REVOKE ALL ON journal FROM hone_gateway;
ALTER VIEW outcomes SET (security_invoker = true);
