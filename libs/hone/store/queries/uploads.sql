-- Uploads in parts (uploads, upload_files, upload_parts).

-- name: add
-- Nothing if the same upload is open already.
INSERT INTO uploads (id, tenant_id, kind, name, content, options, artifact_id, key_id)
VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(name)s, %(content)s, %(options)s, %(artifact_id)s, %(key_id)s)
ON CONFLICT (tenant_id, content) WHERE state = 'open' DO NOTHING

-- name: add_file
INSERT INTO upload_files (upload_id, tenant_id, name, bytes, sha256, key, part_bytes, unfinished)
VALUES (%(upload_id)s, %(tenant_id)s, %(name)s, %(bytes)s, %(sha256)s, %(key)s, %(part_bytes)s, %(unfinished)s)

-- name: remove_file
DELETE FROM upload_files WHERE upload_id = %(upload_id)s AND name = %(name)s

-- name: open_of
SELECT id FROM uploads WHERE tenant_id = %(tenant_id)s AND content = %(content)s AND state = 'open'

-- name: count
SELECT count(*) AS uploads FROM uploads WHERE tenant_id = %(tenant_id)s AND state IN ('open', 'refused')

-- name: refused_of
-- The newest upload of this name that was refused: the next one takes over the files that stayed the same.
SELECT id, artifact_id FROM uploads
WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND name = %(name)s AND state = 'refused'
ORDER BY touched_at DESC LIMIT 1

-- name: reopen
UPDATE uploads SET state = 'open', reason = NULL, content = %(content)s, options = %(options)s, touched_at = now()
WHERE id = %(id)s AND state = 'refused'

-- name: one
SELECT id, kind, name, options, artifact_id, key_id, state, reason, created_at, touched_at, ended_at FROM uploads
WHERE id = %(id)s

-- name: page
SELECT id, kind, name, options, artifact_id, key_id, state, reason, created_at, touched_at, ended_at FROM uploads
WHERE (%(after)s::text IS NULL OR id < %(after)s) AND (%(state)s::text IS NULL OR state = %(state)s)
ORDER BY id DESC LIMIT %(limit)s

-- name: files
SELECT f.upload_id, f.name, f.bytes, f.sha256, f.key, f.part_bytes, f.unfinished, f.verified_at IS NOT NULL AS verified,
    coalesce(array_agg(p.number ORDER BY p.number) FILTER (WHERE p.number IS NOT NULL), '{}') AS received
FROM upload_files f LEFT JOIN upload_parts p ON p.upload_id = f.upload_id AND p.file = f.name
WHERE f.upload_id = ANY (%(uploads)s)
GROUP BY f.upload_id, f.name ORDER BY f.upload_id, f.name

-- name: file
SELECT f.name, f.bytes, f.sha256, f.key, f.part_bytes, f.unfinished, u.state, p.sha256 AS stored_sha256
FROM uploads u JOIN upload_files f ON f.upload_id = u.id
LEFT JOIN upload_parts p ON p.upload_id = f.upload_id AND p.file = f.name AND p.number = %(number)s
WHERE u.id = %(id)s AND f.name = %(name)s

-- name: add_part
-- Nothing if the upload has ended, or if the file has begun anew.
WITH touched AS (
    UPDATE uploads SET touched_at = now() WHERE id = %(id)s AND state = 'open' RETURNING id
)
INSERT INTO upload_parts (upload_id, tenant_id, file, number, sha256, tag)
SELECT f.upload_id, f.tenant_id, f.name, %(number)s, %(sha256)s, %(tag)s
FROM touched t JOIN upload_files f ON f.upload_id = t.id
WHERE f.name = %(file)s AND f.unfinished IS NOT DISTINCT FROM %(unfinished)s
ON CONFLICT (upload_id, file, number) DO UPDATE SET sha256 = excluded.sha256, tag = excluded.tag

-- name: tags
SELECT tag FROM upload_parts WHERE upload_id = %(id)s AND file = %(file)s ORDER BY number

-- name: set_verified
UPDATE upload_files SET verified_at = now() WHERE upload_id = %(id)s AND name = %(file)s

-- name: begin_anew
-- The file had another digest than announced: all of its parts are asked for again.
WITH dropped AS (
    DELETE FROM upload_parts WHERE upload_id = %(id)s AND file = %(file)s
)
UPDATE upload_files SET unfinished = %(unfinished)s WHERE upload_id = %(id)s AND name = %(file)s

-- name: refuse
UPDATE uploads SET state = 'refused', reason = %(reason)s, touched_at = now() WHERE id = %(id)s AND state = 'open'

-- name: finish
UPDATE uploads SET state = 'done', artifact_id = %(artifact_id)s, ended_at = now() WHERE id = %(id)s AND state = 'open'

-- name: abort
UPDATE uploads SET state = 'aborted', ended_at = now() WHERE id = %(id)s AND state IN ('open', 'refused')

-- name: expire
-- The objects of these uploads have no name any more: the sweep of orphans removes them.
UPDATE uploads SET state = 'expired', ended_at = now()
WHERE state IN ('open', 'refused') AND touched_at < now() - make_interval(secs => %(grace_s)s)

-- name: forget
DELETE FROM uploads WHERE ended_at < now() - make_interval(secs => %(grace_s)s)

-- name: unfinished
-- Objects in parts that an upload still waits for.
SELECT f.unfinished FROM uploads u JOIN upload_files f ON f.upload_id = u.id
WHERE u.state IN ('open', 'refused') AND f.unfinished IS NOT NULL
