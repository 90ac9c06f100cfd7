CREATE TABLE notes (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    personality TEXT NOT NULL,
    workspace   TEXT NOT NULL,
    text        TEXT NOT NULL,
    untrusted   INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    UNIQUE (personality, workspace, text)
) STRICT;

-- The words of the notes. It keeps no text of its own.
CREATE VIRTUAL TABLE note_words USING fts5(text, content = 'notes', content_rowid = 'id');
CREATE TRIGGER note_added AFTER INSERT ON notes BEGIN
    INSERT INTO note_words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER note_deleted AFTER DELETE ON notes BEGIN
    INSERT INTO note_words (note_words, rowid, text) VALUES ('delete', old.id, old.text);
END;
