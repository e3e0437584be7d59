-- How many runs of a tenant are in each state, and the newest of one state, are read off an index: specs stay unread.
CREATE INDEX runs_by_state ON runs (tenant_id, state, id);
