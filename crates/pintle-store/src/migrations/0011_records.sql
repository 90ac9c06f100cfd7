-- What a run was judged by, so that its calls can be judged again.
ALTER TABLE runs ADD COLUMN personality TEXT;
ALTER TABLE runs ADD COLUMN judged_by TEXT NOT NULL DEFAULT '{}';
-- How much its events take: the oldest runs are forgotten when all of them take too much.
ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET bytes = (SELECT COALESCE(SUM(LENGTH(json)), 0) FROM run_events e WHERE e.run_id = runs.run_id);
CREATE INDEX runs_by_start ON runs (started_at);
