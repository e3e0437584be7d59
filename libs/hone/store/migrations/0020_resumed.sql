-- When a run last went on after it was paused; null where it never was. What is quiet while it rests is no stall.
ALTER TABLE runs ADD COLUMN resumed_at timestamptz;
