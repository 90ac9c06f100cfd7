//! Conversations.

use pintle::points::Untrusted;
use serde_json::json;

use super::{
    StorePlace,
    support::{another, claimed, key, now, question, said, texts},
};
use crate::{
    Message, ToolCall, ToolResult,
    store::{NewMessage, NewSession, StoreError, Summary},
};

// R6.1: an error stays an error.
pub async fn a_conversation_is_the_same_after_reopening(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let call = |id: &str, input, malformed: Option<&str>| {
        ToolCall::default()
            .id(id)
            .name("terminal")
            .input(input)
            .malformed(malformed.map(str::to_owned))
    };
    let result = |id: &str, is_error| {
        ToolResult::default()
            .tool_call_id(id)
            .tool_name("terminal")
            .content("\u{0}nul, é, \u{1F980}")
            .is_error(is_error)
            .untrusted(
                is_error.then(|| Untrusted::default().from("a web page").suspicion("orders")),
            )
    };
    let calls =
        vec![call("c1", json!({"command": "ls"}), None), call("c2", json!("{\"comm"), Some("EOF"))];
    let messages = [
        Message::user("hello"),
        Message::assistant("", calls),
        Message::tool_results(vec![result("c1", false), result("c2", true)]),
        Message::assistant("done", vec![]),
    ];
    let before = now();
    for message in messages.clone() {
        let new = NewMessage { run_id: "r1".into(), message };
        store.append(&claim, vec![new]).await.unwrap();
    }
    drop((claim, store));

    let store = place.open().await;
    let history = store.history(&session.id).await.unwrap();
    assert_eq!(history.iter().map(|stored| stored.message.clone()).collect::<Vec<_>>(), messages);
    assert!(history.iter().all(|stored| stored.run_id == "r1" && stored.at >= before));
    let again = store.session(&session.id).await.unwrap().unwrap();
    assert_eq!((again.message_count, again.created_at), (4, session.created_at));
    assert!(again.updated_at >= before);
}

pub async fn opening_a_key_finds_the_newest_session_with_it(place: &dyn StorePlace) {
    let store = place.open().await;
    let first = store.open(key("cli:a")).await.unwrap();
    assert_eq!(store.open(key("cli:a")).await.unwrap(), first);
    let second = store.create(key("cli:a")).await.unwrap();
    let other = store.open(key("cli:b")).await.unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(store.open(key("cli:a")).await.unwrap(), second);
    assert_eq!(store.sessions().await.unwrap(), [other, second, first]);
}

pub async fn opening_a_key_never_lands_in_a_sub_agents_session(place: &dyn StorePlace) {
    let store = place.open().await;
    let mine = store.open(key("cli:a")).await.unwrap();
    let child = NewSession { parent: Some(mine.id.clone()), ..key("cli:a") };
    let child = store.create(child).await.unwrap();
    assert_eq!(child.parent.as_ref(), Some(&mine.id));
    assert_eq!(store.open(key("cli:a")).await.unwrap(), mine);
}

pub async fn session_ids_are_uuids_that_sort_by_time(place: &dyn StorePlace) {
    let store = place.open().await;
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(store.create(key("k")).await.unwrap().id);
    }
    assert!(ids.is_sorted());
    assert!(ids.iter().all(|id| uuid::Uuid::parse_str(id).unwrap().get_version_num() == 7));
}

pub async fn a_personality_is_remembered(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    store.set_personality(&claim, "pirate").await.unwrap();
    let again = place.open().await.session(&session.id).await.unwrap().unwrap();
    assert_eq!(again.personality.as_deref(), Some("pirate"));
}

pub async fn a_session_that_does_not_exist_is_named(place: &dyn StorePlace) {
    let store = place.open().await;
    let missing =
        [store.history("nope").await.unwrap_err(), store.try_claim("nope").await.unwrap_err()];
    let is_named =
        |error: &StoreError| matches!(error, StoreError::NoSuchSession(id) if id == "nope");
    assert!(missing.iter().all(is_named), "{missing:?}");
    assert_eq!(store.session("nope").await.unwrap(), None);
    assert!(!store.is_claimed("nope").await.unwrap());
}

pub async fn deleting_a_session_removes_everything_in_it_and_nothing_else(place: &dyn StorePlace) {
    let (store, gone, claim) = claimed(place).await;
    let (kept, kept_claim) = another(&*store, key("kept")).await;
    store.append(&claim, vec![said("secret")]).await.unwrap();
    store.append(&kept_claim, vec![said("kept")]).await.unwrap();
    let asked = store.request_approval(&claim, question()).await.unwrap();
    store.delete(&claim).await.unwrap();
    assert_eq!(store.approval(&asked.id).await.unwrap(), None);
    assert_eq!(store.session(&gone.id).await.unwrap(), None);
    assert!(matches!(store.history(&gone.id).await, Err(StoreError::NoSuchSession(_))));
    assert_eq!(texts(&*store, &kept.id).await, ["kept"]);
    let again = store.append(&claim, vec![said("late")]).await;
    assert!(matches!(again, Err(StoreError::ClaimLost { .. })), "{again:?}");
}

pub async fn an_empty_append_changes_nothing(place: &dyn StorePlace) {
    let (store, before, claim) = claimed(place).await;
    store.append(&claim, vec![]).await.unwrap();
    assert_eq!(store.session(&before.id).await.unwrap().unwrap(), before);
}

// R6.7
pub async fn a_summary_stands_for_the_oldest_messages_and_changes_none(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    store.append(&claim, ["a", "b", "c"].map(said).to_vec()).await.unwrap();
    let before = store.history(&session.id).await.unwrap();
    let whole = store.conversation(&session.id).await.unwrap();
    assert_eq!((whole.summary, &whole.messages), (None, &before));
    for covers in [1, 2] {
        let summary = Summary { covers, text: format!("{covers} of them") };
        store.set_summary(&claim, summary.clone()).await.unwrap();
        let rest = place.open().await.conversation(&session.id).await.unwrap();
        assert_eq!(rest.summary, Some(summary));
        assert_eq!(rest.messages, before[usize::try_from(covers).unwrap()..]);
    }
    store.append(&claim, vec![said("d")]).await.unwrap();
    assert_eq!(texts(&*store, &session.id).await, ["a", "b", "c", "d"]);
    assert_eq!(store.conversation(&session.id).await.unwrap().messages.len(), 2);
    // A run that lost the session does not shorten it.
    store.delete(&claim).await.unwrap();
    let late = store.set_summary(&claim, Summary { covers: 0, text: String::new() }).await;
    assert!(matches!(late, Err(StoreError::ClaimLost { .. })), "{late:?}");
    let gone = store.conversation(&session.id).await;
    assert!(matches!(gone, Err(StoreError::NoSuchSession(_))), "{gone:?}");
}

pub async fn the_messages_of_a_run_are_found_and_the_newest_is_last(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    assert_eq!(store.newest_message(&session.id).await.unwrap(), None);
    store.append(&claim, ["a", "b"].map(said).to_vec()).await.unwrap();
    let newest = store.newest_message(&session.id).await.unwrap();
    assert_eq!(newest, store.history(&session.id).await.unwrap().pop());
    assert!(store.has_messages_of(&session.id, "run").await.unwrap());
    assert!(!store.has_messages_of(&session.id, "another").await.unwrap());
}
