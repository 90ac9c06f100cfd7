-- When its run heard a no: then that answer is used up, as a yes is when `consumed_at` is set.
ALTER TABLE approvals ADD COLUMN heard_at INTEGER CHECK (heard_at IS NULL OR state = 'denied');
-- Whoever was told no before this was kept has long heard it.
UPDATE approvals SET heard_at = answered_at WHERE state = 'denied';
-- Who may answer is always said by name.
UPDATE approvals SET approvers = '["operator"]' WHERE approvers = '[]';
