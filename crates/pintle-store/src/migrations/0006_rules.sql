-- The rule that the question offers, as JSON; and how long it stands if the answer was the rule. `scope` is `once` then.
ALTER TABLE approvals ADD COLUMN rule TEXT;
ALTER TABLE approvals ADD COLUMN rule_scope TEXT CHECK (rule_scope IN ('session', 'always'));
-- Rules that stand in a session and its sub-agents, as long as the program lives that heard the answer.
CREATE TABLE session_rules (
    n          INTEGER PRIMARY KEY,
    program    TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    rule       TEXT NOT NULL,
    workspace  TEXT NOT NULL,
    given_by   TEXT NOT NULL,
    given_at   INTEGER NOT NULL,
    UNIQUE (program, session_id, rule, workspace, given_by)
) STRICT;
