-- What stands for the oldest messages of a session in a request. The messages stay.
CREATE TABLE summaries (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    covers     INTEGER NOT NULL,
    text       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- Whether a run has begun is looked up in conversations of any length.
CREATE INDEX messages_by_run ON messages (session_id, run_id);
