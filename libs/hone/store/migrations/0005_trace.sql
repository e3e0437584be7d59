-- W3C trace context, so that a trace goes on after whoever carried it in memory is gone. NULL: not traced.
ALTER TABLE runs ADD COLUMN traceparent text;    -- of the request that made the run: its trace
ALTER TABLE groups ADD COLUMN traceparent text;  -- of the step it was requested for, where that one is traced
ALTER TABLE steps ADD COLUMN traceparent text;   -- of the step itself, where it is traced
