SELECT id, created_at, manifest FROM versions
WHERE model_id = %(model_id)s AND state = 'live' AND number > 0 ORDER BY number DESC LIMIT 1
