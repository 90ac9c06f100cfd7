use futures_util::FutureExt;
use pintle_agent::{Message, NewMessage, NewSession, Store, StoreError, ToolCall, ToolResult};
use serde_json::json;

use crate::support::{Place, key, now, question, said, session, texts};

#[tokio::test]
async fn a_conversation_is_the_same_after_reopening() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    let call = ToolCall {
        id: "c1".into(),
        name: "terminal".into(),
        input: json!({"command": "ls"}),
        malformed: None,
    };
    let broken = ToolCall {
        id: "c2".into(),
        name: "terminal".into(),
        input: json!("{\"comm"),
        malformed: Some("EOF".into()),
    };
    let result = |id: &str, is_error| ToolResult {
        tool_call_id: id.into(),
        tool_name: "terminal".into(),
        content: "\u{0}nul, é, \u{1F980}".into(),
        is_error,
    };
    let messages = [
        Message::User { text: "hello".into() },
        Message::Assistant { text: String::new(), tool_calls: vec![call, broken] },
        Message::ToolResults { results: vec![result("c1", false), result("c2", true)] },
        Message::Assistant { text: "done".into(), tool_calls: vec![] },
    ];
    let before = now();
    for message in messages.clone() {
        store.append(&session.id, vec![NewMessage { run_id: "r1".into(), message }]).await.unwrap();
    }
    drop(store);

    let store = place.open().await;
    let history = store.history(&session.id).await.unwrap();
    // R6.1: an error stays an error.
    assert_eq!(history.iter().map(|stored| stored.message.clone()).collect::<Vec<_>>(), messages);
    assert!(history.iter().all(|stored| stored.run_id == "r1" && stored.at >= before));
    let again = store.session(&session.id).await.unwrap().unwrap();
    assert_eq!(again.message_count, 4);
    assert_eq!(again.created_at, session.created_at);
    assert!(again.updated_at >= before);
}

#[tokio::test]
async fn opening_a_key_finds_the_newest_session_with_it() {
    let place = Place::new();
    let store = place.open().await;
    let first = store.open(key("cli:a")).await.unwrap();
    assert_eq!(store.open(key("cli:a")).await.unwrap(), first);
    let second = store.create(key("cli:a")).await.unwrap();
    let other = store.open(key("cli:b")).await.unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(store.open(key("cli:a")).await.unwrap(), second);
    assert_eq!(store.sessions().await.unwrap(), [other, second, first]);
}

#[tokio::test]
async fn opening_a_key_never_lands_in_a_sub_agents_session() {
    let place = Place::new();
    let store = place.open().await;
    let mine = store.open(key("cli:a")).await.unwrap();
    let child = NewSession { parent: Some(mine.id.clone()), ..key("cli:a") };
    let child = store.create(child).await.unwrap();
    assert_eq!(child.parent.as_ref(), Some(&mine.id));
    assert_eq!(store.open(key("cli:a")).await.unwrap(), mine);
}

#[tokio::test]
async fn session_ids_are_uuids_that_sort_by_time() {
    let place = Place::new();
    let store = place.open().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(store.create(key("k")).await.unwrap().id);
    }
    assert!(ids.is_sorted());
    assert!(ids.iter().all(|id| uuid::Uuid::parse_str(id).unwrap().get_version_num() == 7));
}

#[tokio::test]
async fn a_personality_is_remembered() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    store.set_personality(&id, "pirate").await.unwrap();
    assert_eq!(store.session(&id).await.unwrap().unwrap().personality.as_deref(), Some("pirate"));
}

#[tokio::test]
async fn a_session_that_does_not_exist_is_named() {
    let place = Place::new();
    let store = place.open().await;
    let missing = [
        store.append("nope", vec![said("a")]).await.unwrap_err(),
        store.append("nope", vec![]).await.unwrap_err(),
        store.set_personality("nope", "x").await.unwrap_err(),
        store.history("nope").await.unwrap_err(),
    ];
    assert!(
        missing.iter().all(|error| matches!(error, StoreError::NoSuchSession(id) if id == "nope"))
    );
    assert_eq!(store.session("nope").await.unwrap(), None);
    assert!(!store.delete("nope").await.unwrap());
}

#[tokio::test]
async fn deleting_a_session_removes_everything_said_in_it_and_nothing_else() {
    let place = Place::new();
    let store = place.open().await;
    let (gone, kept) =
        (store.create(key("a")).await.unwrap(), store.create(key("b")).await.unwrap());
    store.append(&gone.id, vec![said("secret")]).await.unwrap();
    store.append(&kept.id, vec![said("kept")]).await.unwrap();
    let asked = store.request_approval(question(&gone)).await.unwrap();

    assert!(store.delete(&gone.id).await.unwrap());
    assert!(!store.delete(&gone.id).await.unwrap());
    assert_eq!(store.approval(&asked.id).await.unwrap(), None);
    assert_eq!(texts(&store, &kept.id).await, ["kept"]);
    let left: i64 =
        place.raw().query_row("SELECT COUNT(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
}

#[tokio::test]
async fn an_empty_append_changes_nothing() {
    let place = Place::new();
    let store = place.open().await;
    let before = session(&store).await;
    store.append(&before.id, vec![]).await.unwrap();
    assert_eq!(store.session(&before.id).await.unwrap().unwrap(), before);
}

#[tokio::test]
async fn a_damaged_message_is_reported_and_kept() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    store.append(&id, vec![said("a")]).await.unwrap();
    place.raw().execute("UPDATE messages SET body = '{\"role\":'", []).unwrap();
    let error = store.history(&id).await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("message 0"), "{error}");
    assert_eq!(store.session(&id).await.unwrap().unwrap().message_count, 1);
}

#[tokio::test]
async fn what_was_queued_is_finished_when_the_store_is_dropped() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    for i in 0..50 {
        // Queued by the first poll, and then nobody waits for it.
        let _ = store.append(&id, vec![said(&i.to_string())]).now_or_never();
    }
    drop(store);
    assert_eq!(texts(&place.open().await, &id).await.len(), 50);
}

#[tokio::test]
async fn a_closed_store_says_so_to_its_other_users() {
    let place = Place::new();
    let store = place.open().await;
    let other = store.clone();
    let id = session(&store).await.id;
    store.close().await;
    let error = other.append(&id, vec![said("late")]).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
    assert!(texts(&place.open().await, &id).await.is_empty());
}
