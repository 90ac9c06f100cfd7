-- What the run that asked was made of, as JSON; nothing is known of questions from before.
ALTER TABLE approvals ADD COLUMN origin TEXT;
