-- Answers to requests with an idempotency key.

-- name: claim
INSERT INTO idempotency_keys (tenant_id, key, request_sha)
VALUES (%(tenant_id)s, %(key)s, %(request_sha)s)
ON CONFLICT DO NOTHING

-- name: answer
SELECT request_sha, status, response FROM idempotency_keys WHERE key = %(key)s

-- name: set_answer
UPDATE idempotency_keys SET status = %(status)s, response = %(response)s WHERE key = %(key)s
