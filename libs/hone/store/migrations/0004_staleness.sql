-- What a group's staleness is counted from. Versions are named by their numbers: step n trains version n - 1.
ALTER TABLE groups ADD COLUMN begun integer;   -- the newest live version when it was first claimed: no older one samples it
ALTER TABLE groups ADD COLUMN oldest integer;  -- the oldest version that sampled one of its tokens, once it is ready
ALTER TABLE engine_models ADD COLUMN computed_s double precision NOT NULL DEFAULT 0;  -- since the engine's row was made

-- Groups that a planned step has taken are looked for at each turn of the driver, however many steps lie behind.
CREATE INDEX steps_planned ON steps (run_id) WHERE state = 'planned';
