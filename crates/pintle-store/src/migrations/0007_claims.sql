-- Who may write to a session: every write of a run compares epoch and nonce.
CREATE TABLE claims (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    -- Grows with every claim, and stays when the session is given back.
    epoch      INTEGER NOT NULL,
    -- NULL when the session is free.
    nonce      TEXT,
    -- The file that the owner's process keeps locked, and its number for people.
    owner      TEXT,
    pid        INTEGER
) STRICT;

-- Tool calls that were begun. `settled`: the result is in the conversation, and `result` is empty again.
CREATE TABLE calls (
    n            INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id       TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    tool         TEXT NOT NULL,
    args_hash    TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    begun_at     INTEGER NOT NULL,
    outcome      TEXT,
    result       TEXT,
    duration_ms  INTEGER,
    settled      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX calls_open ON calls (session_id) WHERE settled = 0;
CREATE INDEX calls_unknown ON calls (n) WHERE outcome = 'unknown';

-- Calls without a result from before this was kept may have begun, unless a question in their session is still open.
INSERT INTO calls (id, session_id, run_id, tool_call_id, tool, args_hash, epoch, begun_at)
    SELECT 'before-' || m.session_id || '-' || call.key, m.session_id, m.run_id, json_extract(call.value, '$.id'),
           json_extract(call.value, '$.name'), '', 0, m.at
    FROM messages m, json_each(m.body, '$.toolCalls') call
    WHERE json_valid(m.body)
      AND m.seq = (SELECT MAX(seq) FROM messages WHERE session_id = m.session_id)
      AND NOT EXISTS (
          SELECT 1 FROM approvals a WHERE a.session_id = m.session_id
          AND (a.state = 'pending' OR a.state = 'approved' AND a.consumed_at IS NULL)
      );
