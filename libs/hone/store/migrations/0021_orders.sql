-- Everything that a rollout worker needs to make a group's samples, as hone.trajectory.order.Order.
ALTER TABLE groups
    ADD COLUMN "order" jsonb,
    DROP COLUMN task,
    DROP COLUMN n,
    DROP COLUMN sampling,
    DROP COLUMN grader,
    DROP COLUMN traceparent,
    DROP COLUMN source,
    DROP COLUMN wave,
    DROP COLUMN prior,
    DROP COLUMN work;
UPDATE groups SET "order" = '{}';
ALTER TABLE groups ALTER COLUMN "order" SET NOT NULL;
