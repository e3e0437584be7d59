-- Simulators of users: asked for by requests, made by simulation services, and what they said of groups.

-- name: add
INSERT INTO audience_fits (id, tenant_id, key_id, dataset, params, reasoner)
VALUES (%(id)s, %(tenant_id)s, %(key_id)s, %(dataset)s, %(params)s, %(reasoner)s)

-- name: lock
-- Holds the tenant's other requests for fits, so that none goes beyond the limit.
SELECT pg_advisory_xact_lock(hashtextextended('audience_fits ' || %(tenant_id)s, 0))

-- name: open
-- Fits of a tenant that have not ended.
SELECT count(*) AS open FROM audience_fits WHERE tenant_id = %(tenant_id)s AND state IN ('waiting', 'taken')

-- name: one
SELECT id, dataset, params, reasoner, state, reason, report, fusion, created_at, ended_at,
    (SELECT jsonb_build_object('answers', sum(answers), 'tokens', sum(tokens), 'cost', sum(cost)) FROM judge_spending
     WHERE run_id = audience_fits.id HAVING count(*) > 0) AS spent
FROM audience_fits
WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: page
SELECT id, dataset, params, reasoner, state, reason, report, fusion, created_at, ended_at,
    (SELECT jsonb_build_object('answers', sum(answers), 'tokens', sum(tokens), 'cost', sum(cost)) FROM judge_spending
     WHERE run_id = audience_fits.id HAVING count(*) > 0) AS spent
FROM audience_fits
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR id < %(after)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: policies
SELECT id, record, text FROM audience_policies WHERE tenant_id = %(tenant_id)s AND fit_id = %(fit_id)s
ORDER BY length(id), id

-- name: delete
DELETE FROM audience_fits WHERE tenant_id = %(tenant_id)s AND id = %(id)s RETURNING id

-- name: used
-- Tokens that a fit has used of all judges.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM judge_spending WHERE run_id = %(id)s

-- name: begin
-- Nothing where the fit has ended. No worker of the release before takes it from now on: its writes name the owner.
UPDATE audience_fits SET state = 'taken', owner = NULL, due_at = '9999-01-01'
WHERE id = %(id)s AND state IN ('waiting', 'taken')
RETURNING id, tenant_id, key_id, dataset, params, reasoner, written

-- name: write
UPDATE audience_fits SET written = %(written)s
WHERE id = %(id)s AND state = 'taken' AND EXISTS (SELECT FROM jobs j WHERE j.id = %(job_id)s AND j.epoch = %(epoch)s)

-- name: again
UPDATE audience_fits SET state = 'waiting', reason = %(reason)s WHERE id = %(id)s AND state = 'taken'

-- name: finish
UPDATE audience_fits SET state = %(state)s, reason = %(reason)s, report = %(report)s, simulator = %(simulator)s,
    fusion = %(fusion)s, ended_at = now()
WHERE id = %(id)s AND state = 'taken'
RETURNING id

-- name: add_policies
INSERT INTO audience_policies (fit_id, id, tenant_id, record, text)
SELECT %(fit_id)s, unnest(%(ids)s::text[]), %(tenant_id)s, unnest(%(records)s::jsonb[]), unnest(%(texts)s::text[])

-- name: fitted
SELECT id, key_id, reasoner, params, state, reason, report, simulator, fusion FROM audience_fits
WHERE tenant_id = %(tenant_id)s AND id = %(id)s

-- name: weigh
UPDATE audience_fits SET fusion = %(fusion)s, report = %(report)s
WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND state = 'done'
RETURNING id, state, reason, report

-- name: group
SELECT id, personas, q FROM audience_groups WHERE fit_id = %(fit_id)s AND asked = %(asked)s

-- name: keep_group
-- The first answer to equal questions stays.
INSERT INTO audience_groups (id, fit_id, tenant_id, purpose, asked, spec, stratum, users, personas, q, anchored, fitted,
    reasoned, rates, gap)
VALUES (%(id)s, %(fit_id)s, %(tenant_id)s, %(purpose)s, %(asked)s, %(spec)s, %(stratum)s, %(users)s, %(personas)s, %(q)s,
    %(anchored)s, %(fitted)s, %(reasoned)s, %(rates)s, %(gap)s)
ON CONFLICT (fit_id, asked) DO NOTHING

-- name: gaps
SELECT gap FROM audience_groups WHERE fit_id = %(fit_id)s AND purpose = 'simulation' AND gap IS NOT NULL
ORDER BY created_at DESC LIMIT %(most)s

-- name: measured
-- Merchants that the fusion is calibrated by, with what both branches say of them. Each has one row.
SELECT id, spec ->> 'merchant_id' AS merchant, stratum, users, rates, fitted, reasoned FROM audience_groups
WHERE tenant_id = %(tenant_id)s AND fit_id = %(fit_id)s AND purpose = 'calibration'
    AND (%(after)s::text IS NULL OR id > %(after)s)
ORDER BY id LIMIT %(limit)s

-- name: calibration
SELECT spec ->> 'merchant_id' AS merchant, stratum, rates, reasoned, fitted, users FROM audience_groups
WHERE fit_id = %(fit_id)s AND purpose = 'calibration' AND reasoned IS NOT NULL ORDER BY spec ->> 'merchant_id'
