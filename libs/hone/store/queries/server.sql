-- The server itself: logins, databases, notifications.

-- name: notify
SELECT pg_notify(%(channel)s, %(payload)s)

-- name: alive
SELECT 1 AS one

-- name: figures
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
    current_setting('max_connections')::int AS most, (SELECT count(*) FROM pg_stat_activity)::int AS used,
    current_setting('fsync')::boolean AS durable, extract(epoch FROM clock_timestamp())::float8 AS now_s

-- name: database_exists
SELECT FROM pg_database WHERE datname = 'hone'

-- name: create_database
CREATE DATABASE hone

-- name: name_login
SELECT set_config('hone.login', %(login)s, true), set_config('hone.role', %(role)s, true),
       set_config('hone.password', %(password)s, true)

-- name: in_role
SELECT pg_has_role(current_user, %(role)s, 'MEMBER') AS found

-- name: ensure_login
DO $$
DECLARE
    login text := current_setting('hone.login');
    password text := current_setting('hone.password');
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
        EXECUTE format('CREATE ROLE %I LOGIN IN ROLE %I', login, current_setting('hone.role'));
    END IF;
    EXECUTE format('ALTER ROLE %I PASSWORD %L', login, password);
END $$
