-- Processes that nobody calls and that have no address to ask at: that they live, in their own words.
CREATE TABLE workers (
    id           text PRIMARY KEY,         -- its slot under a supervisor, or a name of its own
    kind         text NOT NULL CHECK (kind IN ('trainer', 'rollout')),
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON workers TO hone_worker;
GRANT SELECT ON workers TO hone_gateway;
