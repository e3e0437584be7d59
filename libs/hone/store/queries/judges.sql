-- Endpoints that graders ask, their secrets, and what they answered.

-- name: page
SELECT name, url, model, secret, terms, updated_at FROM judges
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR name > %(after)s) ORDER BY name LIMIT %(limit)s

-- name: one
SELECT name, url, model, secret, terms, updated_at FROM judges WHERE tenant_id = %(tenant_id)s AND name = %(name)s

-- name: put
INSERT INTO judges (tenant_id, name, url, model, secret, terms)
VALUES (%(tenant_id)s, %(name)s, %(url)s, %(model)s, %(secret)s, %(terms)s)
ON CONFLICT (tenant_id, name) DO UPDATE SET url = excluded.url, model = excluded.model, secret = excluded.secret,
    terms = excluded.terms, updated_at = now()
RETURNING name, url, model, secret, terms, updated_at, xmax = 0 AS new

-- name: delete
DELETE FROM judges WHERE tenant_id = %(tenant_id)s AND name = %(name)s
RETURNING name, url, model, secret, terms, updated_at

-- name: secrets
SELECT name, updated_at FROM secrets
WHERE tenant_id = %(tenant_id)s AND (%(after)s::text IS NULL OR name > %(after)s) ORDER BY name LIMIT %(limit)s

-- name: put_secret
-- The gateway may not read what is sealed, so the new value is not read from the row.
INSERT INTO secrets (tenant_id, name, sealed) VALUES (%(tenant_id)s, %(name)s, %(sealed)s)
ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = %(sealed)s, updated_at = now()
RETURNING name, updated_at

-- name: delete_secret
DELETE FROM secrets WHERE tenant_id = %(tenant_id)s AND name = %(name)s RETURNING name, updated_at

-- name: asked
-- A judge with its sealed secret; the secret's name alone where nobody set it.
SELECT j.name, j.url, j.model, j.secret, j.terms, s.sealed FROM judges j
LEFT JOIN secrets s ON s.tenant_id = j.tenant_id AND s.name = j.secret
WHERE j.tenant_id = %(tenant_id)s AND j.name = %(name)s

-- name: answer
SELECT reply FROM judge_answers WHERE tenant_id = %(tenant_id)s AND hash = %(hash)s

-- name: keep_answer
INSERT INTO judge_answers (tenant_id, hash, judge, reply) VALUES (%(tenant_id)s, %(hash)s, %(judge)s, %(reply)s)
ON CONFLICT (tenant_id, hash) DO NOTHING

-- name: spent
SELECT tokens, cost FROM judge_spending WHERE run_id = %(run_id)s AND judge = %(judge)s

-- name: spend
-- Of a run, of a fit of an audience, or of a job that makes a package.
INSERT INTO judge_spending (tenant_id, run_id, judge, answers, tokens, cost, pinned)
SELECT r.tenant_id, r.id, %(judge)s, 1, %(tokens)s, %(cost)s, %(pinned)s
FROM (SELECT id, tenant_id FROM runs UNION ALL SELECT id, tenant_id FROM audience_fits
      UNION ALL SELECT id, tenant_id FROM package_jobs) r WHERE r.id = %(run_id)s
ON CONFLICT (run_id, judge) DO UPDATE SET answers = judge_spending.answers + 1,
    tokens = judge_spending.tokens + excluded.tokens, cost = judge_spending.cost + excluded.cost, pinned = excluded.pinned

-- name: spending
SELECT judge, answers, tokens, cost FROM judge_spending WHERE run_id = %(run_id)s ORDER BY judge

-- name: key_of_run
SELECT key_id FROM runs WHERE id = %(run_id)s AND tenant_id = %(tenant_id)s

-- name: known
-- A judge of the transaction's tenant, its protocol, and whether its secret is set, if it needs one.
SELECT j.secret, coalesce(j.terms ->> 'protocol', 'chat') AS protocol, j.secret IS NULL OR s.name IS NOT NULL AS ready FROM judges j
LEFT JOIN secrets s ON s.tenant_id = j.tenant_id AND s.name = j.secret
WHERE j.name = %(name)s AND j.tenant_id = current_setting('hone.tenant')
