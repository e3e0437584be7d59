-- What benchmarks.value_model.latency asks about: a run with one committed step of 256 groups of one sample each.

-- name: tenant
INSERT INTO tenants (id, name) VALUES ('tenant_latency', 'latency')

-- name: run
INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline)
VALUES ('run_latency', 'tenant_latency', 'latency', '{}', '', 'model_latency', now() + interval '1 hour')

-- name: groups
INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, "order", model_id, state, deadline)
SELECT 'tenant_latency', 'run_latency', 'train', place, 1, 't' || place, '{}', 'model_latency', 'used', now()
FROM generate_series(0, %(rows)s - 1) place

-- name: trajectories
INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,
                          finish_reason, status, score)
SELECT id, 0, tenant_id, run_id, '', 0, 1, 1, 'stop', 'ok', (request_no %% 3 = 0)::integer FROM groups
WHERE run_id = 'run_latency'

-- name: prompts
INSERT INTO prompts (run_id, task_hash, tenant_id, text)
SELECT 'run_latency', 't' || place - 1, 'tenant_latency', text FROM unnest(%(texts)s::text[]) WITH ORDINALITY t (text, place)

-- name: step
INSERT INTO steps (run_id, tenant_id, n, epoch, state, plan, group_ids)
SELECT 'run_latency', 'tenant_latency', 1, 1, 'committed', '{}', array_agg(id) FROM groups WHERE run_id = 'run_latency'
