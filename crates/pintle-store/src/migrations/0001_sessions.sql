-- `n` keeps the order in which sessions were made, whatever the clock says.
CREATE TABLE sessions (
    n             INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    key           TEXT NOT NULL,
    platform      TEXT NOT NULL,
    personality   TEXT,
    parent        TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_by_key ON sessions (key, n);

CREATE TABLE messages (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    run_id     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;
