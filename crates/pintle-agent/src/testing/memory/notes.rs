//! Notes in memory.

use super::{MemoryStore, now};
use crate::store::{NewNote, Note, NoteScope, Notes, Stored, query_words};

impl Notes for MemoryStore {
    fn add_note(&self, new: NewNote) -> Stored<'_, Note> {
        self.write(|tables| {
            let same = |note: &Note| note.scope == new.scope && note.text == new.text;
            if let Some(place) = tables.notes.iter().position(same) {
                let mut note = tables.notes.remove(place);
                note.untrusted |= new.untrusted;
                note.at = now();
                tables.notes.push(note.clone());
                return Ok(note);
            }
            tables.last_note += 1;
            let NewNote { scope, text, untrusted } = new;
            let note = Note { id: tables.last_note, scope, text, untrusted, at: now() };
            tables.notes.push(note.clone());
            Ok(note)
        })
    }

    fn search_notes(
        &self,
        scope: Option<&NoteScope>,
        query: &str,
        limit: u32,
    ) -> Stored<'_, Vec<Note>> {
        let wanted = query_words(query);
        let fit = |note: &Note| {
            let words = query_words(&note.text);
            wanted.iter().filter(|word| words.contains(word)).count()
        };
        self.read(|tables| {
            let mut found: Vec<(usize, &Note)> = tables
                .notes
                .iter()
                .rev()
                .filter(|note| scope.is_none_or(|scope| note.scope == *scope))
                .map(|note| (fit(note), note))
                .filter(|(words, _)| *words > 0)
                .collect();
            found.sort_by_key(|(words, _)| std::cmp::Reverse(*words));
            found.into_iter().take(limit as usize).map(|(_, note)| note.clone()).collect()
        })
    }

    fn notes(&self, scope: Option<&NoteScope>, limit: u32) -> Stored<'_, Vec<Note>> {
        let fits = |note: &&Note| scope.is_none_or(|scope| note.scope == *scope);
        self.read(|tables| {
            tables.notes.iter().rev().filter(fits).take(limit as usize).cloned().collect()
        })
    }

    fn delete_note(&self, id: u64) -> Stored<'_, bool> {
        self.write(|tables| {
            let before = tables.notes.len();
            tables.notes.retain(|note| note.id != id);
            Ok(tables.notes.len() < before)
        })
    }
}
