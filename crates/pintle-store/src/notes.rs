//! Notes, with SQLite's full-text search.

use futures_util::future::FutureExt;
use pintle_agent::store::{NewNote, Note, NoteScope, Notes, Stored, query_words};
use rusqlite::{Row, params};

use crate::clock::{from_sql, now_ms, to_sql};
use crate::store::SqliteStore;

const COLUMNS: &str = "notes.id, personality, workspace, notes.text, untrusted, at";
const IN_SCOPE: &str = "(?1 IS NULL OR personality = ?1 AND workspace = ?2)";

impl Notes for SqliteStore {
    fn add_note(&self, new: NewNote) -> Stored<'_, Note> {
        let keep = self.worker().write("keeping a note", move |conn| {
            let NewNote { scope: NoteScope { personality, workspace }, text, untrusted } = new;
            let mut insert = conn.prepare_cached(&format!(
                "INSERT INTO notes (personality, workspace, text, untrusted, at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET untrusted = MAX(untrusted, ?4), at = ?5
                 RETURNING {COLUMNS}"
            ))?;
            let new = params![personality, workspace, text, untrusted, to_sql(now_ms())];
            Ok(insert.query_row(new, note_from)?)
        });
        keep.boxed()
    }

    fn search_notes(
        &self,
        scope: Option<&NoteScope>,
        query: &str,
        limit: u32,
    ) -> Stored<'_, Vec<Note>> {
        // Quotes keep SQLite from reading a word as an operator of its query syntax.
        let words: Vec<_> = query_words(query).iter().map(|word| format!("\"{word}\"")).collect();
        let (scope, query) = (scope.cloned(), words.join(" OR "));
        let search = self.worker().read("searching the notes", move |conn| {
            if query.is_empty() {
                return Ok(Vec::new());
            }
            let mut found = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM note_words JOIN notes ON notes.id = note_words.rowid
                 WHERE note_words MATCH ?3 AND {IN_SCOPE} ORDER BY rank LIMIT ?4"
            ))?;
            let (personality, workspace) = split(scope);
            let notes =
                found.query_map(params![personality, workspace, query, limit], note_from)?;
            Ok(notes.collect::<Result<_, _>>()?)
        });
        search.boxed()
    }

    fn notes(&self, scope: Option<&NoteScope>, limit: u32) -> Stored<'_, Vec<Note>> {
        let scope = scope.cloned();
        let list = self.worker().read("listing the notes", move |conn| {
            let mut newest = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM notes WHERE {IN_SCOPE} ORDER BY at DESC, id DESC LIMIT ?3"
            ))?;
            let (personality, workspace) = split(scope);
            let notes = newest.query_map(params![personality, workspace, limit], note_from)?;
            Ok(notes.collect::<Result<_, _>>()?)
        });
        list.boxed()
    }

    fn delete_note(&self, id: u64) -> Stored<'_, bool> {
        let delete = self.worker().write("deleting a note", move |conn| {
            Ok(conn.execute("DELETE FROM notes WHERE id = ?1", [to_sql(id)])? > 0)
        });
        delete.boxed()
    }
}

fn split(scope: Option<NoteScope>) -> (Option<String>, Option<String>) {
    scope.map(|scope| (scope.personality, scope.workspace)).unzip()
}

fn note_from(row: &Row<'_>) -> rusqlite::Result<Note> {
    let scope = NoteScope { personality: row.get(1)?, workspace: row.get(2)? };
    Ok(Note {
        id: from_sql(row.get(0)?),
        scope,
        text: row.get(3)?,
        untrusted: row.get(4)?,
        at: from_sql(row.get(5)?),
    })
}
