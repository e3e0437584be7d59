-- A model may be an adapter beside its base.
ALTER TABLE models DROP CONSTRAINT models_kind_check;
ALTER TABLE models ADD CONSTRAINT models_kind_check CHECK (kind IN ('full', 'lora'));
