-- Lanes: a chat or thread each. `ready_at` is NULL when nothing waits in it.
CREATE TABLE lanes (
    key         TEXT PRIMARY KEY,
    -- Grows with every claim.
    epoch       INTEGER NOT NULL DEFAULT 0,
    claim       TEXT,
    owner       TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    next_seq    INTEGER NOT NULL DEFAULT 1,
    ready_at    INTEGER
) STRICT;
CREATE INDEX lanes_ready ON lanes (ready_at) WHERE ready_at IS NOT NULL;

-- Messages that came in. Their order is that of their lane's `next_seq`.
CREATE TABLE inbox (
    lane        TEXT NOT NULL REFERENCES lanes (key),
    seq         INTEGER NOT NULL,
    run_id      TEXT NOT NULL UNIQUE,
    session_id  TEXT NOT NULL,
    personality TEXT,
    message     TEXT NOT NULL,
    state       TEXT NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    waiting_on  TEXT,
    outcome     TEXT,
    error       TEXT,
    accepted_at INTEGER NOT NULL,
    PRIMARY KEY (lane, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_open ON inbox (lane, seq) WHERE state IN ('queued', 'parked');
CREATE INDEX inbox_set_aside ON inbox (state) WHERE state IN ('parked', 'dead');
CREATE INDEX inbox_waiting ON inbox (waiting_on) WHERE waiting_on IS NOT NULL;

-- Every message that was ever received, for longer than a platform delivers it again.
CREATE TABLE inbox_seen (
    dedup_key TEXT PRIMARY KEY,
    run_id    TEXT NOT NULL,
    at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages to be sent, in the order of `n` within a lane.
CREATE TABLE outbox (
    n           INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    lane        TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    approval_id TEXT,
    message     TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'prepared',
    claim       TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    due_at      INTEGER NOT NULL DEFAULT 0,
    -- 1 from right before the platform gets it until its answer is known.
    begun       INTEGER NOT NULL DEFAULT 0,
    attempts    INTEGER NOT NULL DEFAULT 0,
    platform_id TEXT,
    reason      TEXT,
    settled_at  INTEGER
) STRICT;
CREATE INDEX outbox_open ON outbox (lane, n) WHERE state = 'prepared';
CREATE INDEX outbox_run ON outbox (run_id);
CREATE INDEX outbox_approval ON outbox (approval_id) WHERE approval_id IS NOT NULL;

-- Small values that lapse: pairing codes, buttons, who is paired.
CREATE TABLE gateway_values (
    key        TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
