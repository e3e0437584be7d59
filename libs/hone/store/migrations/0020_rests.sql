-- When a run was paused, from when to when; the last is open while it is. What is quiet while it rests is no stall.
ALTER TABLE runs ADD COLUMN rests tstzmultirange NOT NULL DEFAULT '{}';
UPDATE runs SET rests = tstzmultirange(tstzrange(now(), NULL)) WHERE state = 'paused';
