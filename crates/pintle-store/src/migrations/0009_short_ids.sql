-- Runs, sessions and approvals share one set of ids that people can type.
CREATE TABLE short_ids (
    short TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    UNIQUE (kind, id)
) STRICT, WITHOUT ROWID;
