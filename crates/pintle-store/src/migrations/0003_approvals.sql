CREATE TABLE approvals (
    n             INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id        TEXT NOT NULL,
    tool_call_id  TEXT NOT NULL,
    tool          TEXT NOT NULL,
    args          TEXT NOT NULL,
    args_hash     TEXT NOT NULL,
    reason        TEXT NOT NULL,
    approvers     TEXT NOT NULL,
    requested_by  TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    state         TEXT NOT NULL DEFAULT 'pending'
                  CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'cancelled')),
    scope         TEXT CHECK (scope IN ('once', 'session')),
    answered_by   TEXT,
    answer_reason TEXT,
    answered_at   INTEGER,
    consumed_at   INTEGER,
    -- Only what was approved has a scope, and only that can be used up.
    CHECK ((state = 'approved') = (scope IS NOT NULL)),
    CHECK (consumed_at IS NULL OR state = 'approved')
) STRICT;
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_by_call ON approvals (session_id, tool, args_hash);
