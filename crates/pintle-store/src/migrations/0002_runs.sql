CREATE TABLE runs (
    n              INTEGER PRIMARY KEY,
    run_id         TEXT NOT NULL UNIQUE,
    session_id     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    model          TEXT NOT NULL,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    outcome        TEXT,
    input_tokens   INTEGER NOT NULL DEFAULT 0,
    output_tokens  INTEGER NOT NULL DEFAULT 0,
    cost_usd       REAL NOT NULL DEFAULT 0,
    dropped_events INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_by_session ON runs (session_id);

CREATE TABLE run_events (
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    type   TEXT NOT NULL,
    json   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
