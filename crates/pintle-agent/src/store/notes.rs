//! Notes: what an agent remembers across sessions (R6.8).

use serde::{Deserialize, Serialize};

use super::Stored;

/// Where notes are kept, with full-text search.
pub trait Notes: Send + Sync + 'static {
    /// Keeps a note. The same text twice in one scope is one note, with the newer time; untrusted once is untrusted.
    fn add_note(&self, new: NewNote) -> Stored<'_, Note>;
    /// The notes of a scope, or of all, that have a word of the query: the best fit first. Every character of the query is
    /// text: there are no operators.
    fn search_notes(
        &self,
        scope: Option<&NoteScope>,
        query: &str,
        limit: u32,
    ) -> Stored<'_, Vec<Note>>;
    /// The notes of a scope, or all of them, newest first.
    fn notes(&self, scope: Option<&NoteScope>, limit: u32) -> Stored<'_, Vec<Note>>;
    /// Removes a note. `false` when it is gone already.
    fn delete_note(&self, id: u64) -> Stored<'_, bool>;
}

/// Whose notes they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteScope {
    /// Who wrote them.
    pub personality: String,
    /// The folder they are about.
    pub workspace: String,
}

/// A note about to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNote {
    /// Whose it is.
    pub scope: NoteScope,
    /// What it says.
    pub text: String,
    /// Whether text of strangers may have put it there.
    pub untrusted: bool,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Its number; none is given twice.
    pub id: u64,
    /// Whose it is.
    #[serde(flatten)]
    pub scope: NoteScope,
    /// What it says.
    pub text: String,
    /// Whether text of strangers may have put it there.
    pub untrusted: bool,
    /// When it was written, in milliseconds since 1970.
    pub at: u64,
}

/// The words of a query that are looked for, in lower case.
pub fn query_words(query: &str) -> Vec<String> {
    const MOST: usize = 32;
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_lowercase).collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(MOST);
    words
}
