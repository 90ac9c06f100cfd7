//! R6.8: notes are found again, by those whose they are.

use super::StorePlace;
use crate::store::{NewNote, Note, NoteScope, Store};

fn scope(personality: &str, workspace: &str) -> NoteScope {
    NoteScope { personality: personality.to_owned(), workspace: workspace.to_owned() }
}

async fn add(store: &dyn Store, scope: NoteScope, text: &str, untrusted: bool) -> Note {
    let text = text.to_owned();
    store.add_note(NewNote { scope, text, untrusted }).await.unwrap()
}

async fn found(store: &dyn Store, scope: Option<&NoteScope>, query: &str) -> Vec<String> {
    let notes = store.search_notes(scope, query, 10).await.unwrap();
    notes.into_iter().map(|note| note.text).collect()
}

pub async fn a_note_is_found_by_its_words_and_the_best_fit_is_first(place: &dyn StorePlace) {
    let store = place.open().await;
    let mine = scope("main", "/home/ann/project");
    add(&*store, mine.clone(), "The parser is in src/parse.rs", false).await;
    add(&*store, mine.clone(), "Ann likes short answers", false).await;
    add(&*store, mine.clone(), "The parser of Ann likes no tabs", false).await;
    let again = place.open().await;
    let ann = found(&*again, Some(&mine), "what does ANN's parser like? tabs!").await;
    assert_eq!(ann.len(), 3);
    assert_eq!(ann[0], "The parser of Ann likes no tabs");
    assert_eq!(found(&*again, Some(&mine), "answers").await, ["Ann likes short answers"]);
    assert_eq!(store.search_notes(Some(&mine), "parser", 1).await.unwrap().len(), 1);
}

pub async fn a_query_is_text_and_has_no_operators(place: &dyn StorePlace) {
    let store = place.open().await;
    let mine = scope("main", "/w");
    add(&*store, mine.clone(), "café NEAR the \"door\"", false).await;
    for nothing in ["", "  ", "\"", "*", "(", "OR", "NOT x", "do*", "text:zzz", "- ^ :"] {
        assert_eq!(found(&*store, Some(&mine), nothing).await, [""; 0], "{nothing}");
    }
    for something in
        ["\"door", "door*", "NOT door", "(near", "Café", "text: door'; DROP TABLE notes"]
    {
        assert_eq!(found(&*store, Some(&mine), something).await.len(), 1, "{something}");
    }
}

pub async fn notes_belong_to_a_personality_and_a_workspace(place: &dyn StorePlace) {
    let store = place.open().await;
    let (mine, other) = (scope("main", "/a"), scope("other", "/a"));
    add(&*store, mine.clone(), "tabs", false).await;
    add(&*store, other.clone(), "tabs and spaces", true).await;
    add(&*store, scope("main", "/b"), "tabs elsewhere", false).await;
    assert_eq!(found(&*store, Some(&mine), "tabs").await, ["tabs"]);
    assert_eq!(found(&*store, None, "tabs").await.len(), 3);
    let listed = store.notes(Some(&other), 10).await.unwrap();
    assert_eq!((listed.len(), listed[0].untrusted), (1, true));
    let all = store.notes(None, 2).await.unwrap();
    assert_eq!(
        all.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(),
        ["tabs elsewhere", "tabs and spaces"]
    );
}

pub async fn the_same_note_twice_is_one_and_stays_untrusted(place: &dyn StorePlace) {
    let store = place.open().await;
    let mine = scope("main", "/w");
    let first = add(&*store, mine.clone(), "tabs", true).await;
    add(&*store, mine.clone(), "spaces", false).await;
    let again = add(&*store, mine.clone(), "tabs", false).await;
    assert_eq!((again.id, again.untrusted), (first.id, true));
    let newest = store.notes(Some(&mine), 10).await.unwrap();
    assert_eq!(newest.len(), 2);
}

pub async fn a_deleted_note_is_not_found_again(place: &dyn StorePlace) {
    let store = place.open().await;
    let mine = scope("main", "/w");
    let gone = add(&*store, mine.clone(), "the old door", false).await;
    add(&*store, mine.clone(), "the new door", false).await;
    assert!(store.delete_note(gone.id).await.unwrap());
    assert!(!store.delete_note(gone.id).await.unwrap());
    assert_eq!(found(&*store, Some(&mine), "old door").await, ["the new door"]);
    assert!(add(&*store, mine, "a third door", false).await.id > gone.id + 1);
}
