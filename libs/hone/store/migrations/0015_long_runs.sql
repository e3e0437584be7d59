-- What driver and trainer ask with every step takes as long at a run's ten thousandth step as at its tenth: they look
-- for few rows among all that the run ever had.
CREATE INDEX groups_expired ON groups (run_id) WHERE state = 'dropped' AND reason = 'expired';
CREATE INDEX operations_failed ON operations (model_id, seq) WHERE state = 'failed';
CREATE INDEX versions_kept ON versions (model_id, number) WHERE weights_deleted_at IS NULL;
