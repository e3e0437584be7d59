-- name: lock
SELECT pg_advisory_lock(hashtext('hone.migrations'));

-- name: ensure_table
CREATE TABLE IF NOT EXISTS migrations (
    name        text PRIMARY KEY,
    sha256      text NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);

-- name: applied
SELECT name, sha256 FROM migrations ORDER BY name;

-- name: record
INSERT INTO migrations (name, sha256) VALUES (%(name)s, %(sha256)s);
