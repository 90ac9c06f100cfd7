-- AUTOINCREMENT: the number of a deleted ticket is not given again.
CREATE TABLE tickets (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    title      TEXT NOT NULL,
    criteria   TEXT,
    check_line TEXT,
    state      TEXT NOT NULL,
    assignee   TEXT,
    summary    TEXT,
    reason     TEXT,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tickets_by_state ON tickets (state, id);

-- A row for each assignee. It outlives the tickets.
CREATE TABLE reputations (
    assignee TEXT PRIMARY KEY,
    accepted INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
