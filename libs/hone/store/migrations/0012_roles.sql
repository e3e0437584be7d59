-- Models of a run beside its policy, by their role. Each is a row of models that nothing trains: its version 0 is all of it.
ALTER TABLE runs ADD COLUMN roles jsonb NOT NULL DEFAULT '{}';  -- {role: model id}
