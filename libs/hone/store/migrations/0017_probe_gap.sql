-- How far an engine's log-probs of the probe lay from the trainer's when it took its present version over, nats; null
-- where it holds none, or the version has no probe.
ALTER TABLE engine_models ADD COLUMN gap_mean double precision, ADD COLUMN gap_max double precision;
