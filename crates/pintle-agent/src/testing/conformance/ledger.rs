//! A tool runs at most once, and never silently (R11.6).

use futures_util::future::join_all;
use pintle::points::ToolOutcome;
use serde_json::json;

use super::{
    StorePlace,
    support::{another, claimed, intent, key, no, question, yes},
};
use crate::{
    Message,
    call::args_hash,
    run::new_id,
    store::{Begun, CallEnd, CallFilter, Intent, NewMessage, StoredCall},
};

fn plain(tool_call_id: &str) -> Intent {
    Intent {
        id: new_id(),
        run_id: "run".into(),
        tool_call_id: tool_call_id.into(),
        tool: "terminal".into(),
        args_hash: args_hash(&json!({})),
        approval_id: None,
    }
}

fn end(outcome: ToolOutcome, text: &str) -> CallEnd {
    CallEnd { outcome, text: text.into(), duration_ms: 7 }
}

fn results() -> Vec<NewMessage> {
    vec![NewMessage { run_id: "run".into(), message: Message::tool_results(vec![]) }]
}

pub async fn an_approval_is_used_once_and_in_the_step_that_begins_the_call(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let asked = store.request_approval(&claim, question()).await.unwrap();
    assert_eq!(
        store.begin_call(&claim, intent(&asked)).await.unwrap(),
        Begun::ApprovalUsed,
        "not answered yet"
    );
    store.answer_approval(yes(&asked)).await.unwrap();
    let begun = join_all((0..8).map(|_| store.begin_call(&claim, intent(&asked)))).await;
    let started = begun.into_iter().filter(|begun| *begun.as_ref().unwrap() == Begun::Started);
    assert_eq!(started.count(), 1);
    let open = store.open_calls(&session.id).await.unwrap();
    assert_eq!(open.len(), 1, "an intent without its approval is not written: {open:?}");
    assert!(store.approval(&asked.id).await.unwrap().unwrap().consumed_at.is_some());
}

// P3
pub async fn only_an_approval_of_these_arguments_and_this_session_begins_a_call(
    place: &dyn StorePlace,
) {
    let (store, session, claim) = claimed(place).await;
    let (other, other_claim) = another(&*store, key("b")).await;
    let asked = store.request_approval(&claim, question()).await.unwrap();
    let denied = store.request_approval(&claim, question()).await.unwrap();
    store.answer_approval(yes(&asked)).await.unwrap();
    store.answer_approval(no(&denied)).await.unwrap();
    let swapped = Intent { args_hash: args_hash(&json!({"command": "rm -r /"})), ..intent(&asked) };
    let unknown = Intent { approval_id: Some("nope".into()), ..intent(&asked) };
    for (claim, intent) in [
        (&claim, swapped),
        (&claim, unknown),
        (&claim, intent(&denied)),
        (&other_claim, intent(&asked)),
    ] {
        assert_eq!(store.begin_call(claim, intent).await.unwrap(), Begun::ApprovalUsed);
    }
    for session in [&session, &other] {
        assert!(store.open_calls(&session.id).await.unwrap().is_empty());
    }
    assert_eq!(store.begin_call(&claim, intent(&asked)).await.unwrap(), Begun::Started);
}

pub async fn a_call_without_an_end_is_found_by_the_next_owner(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let (ended, left) = (plain("c1"), plain("c2"));
    for intent in [&ended, &left] {
        assert_eq!(store.begin_call(&claim, intent.clone()).await.unwrap(), Begun::Started);
    }
    let ok = end(ToolOutcome::Ok, "done");
    store.end_call(&claim, &ended.id, ok.clone()).await.unwrap();
    let epoch = claim.token().epoch;
    drop((claim, store));

    let store = place.open().await;
    let claim = store.claim(&session).await.unwrap();
    let open = store.open_calls(&session.id).await.unwrap();
    let [first, second] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!((&first.id, &first.end), (&ended.id, &Some(ok)));
    assert_eq!((&second.id, &second.end), (&left.id, &None));
    let Intent { run_id, tool_call_id, tool, args_hash, .. } = left.clone();
    let begun_at = second.begun_at;
    let session_id = session.id.clone();
    let (id, end_of) = (left.id.clone(), None);
    let whole = StoredCall {
        id,
        session_id,
        run_id,
        tool_call_id,
        tool,
        args_hash,
        epoch,
        begun_at,
        end: end_of,
    };
    assert_eq!(*second, whole);
    // The next owner says what it knows.
    store.end_call(&claim, &left.id, end(ToolOutcome::Unknown, "who knows")).await.unwrap();
}

pub async fn results_in_the_conversation_settle_the_calls(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let (other, other_claim) = another(&*store, key("b")).await;
    let (mine, theirs) = (plain("c1"), plain("c1"));
    store.begin_call(&claim, mine.clone()).await.unwrap();
    store.begin_call(&other_claim, theirs).await.unwrap();
    store.end_call(&claim, &mine.id, end(ToolOutcome::Ok, "long output")).await.unwrap();
    let text = Message::user("meanwhile");
    let said = NewMessage { run_id: "run".into(), message: text };
    store.append(&claim, vec![said]).await.unwrap();
    assert_eq!(store.open_calls(&session.id).await.unwrap().len(), 1);
    store.append(&claim, results()).await.unwrap();
    assert!(store.open_calls(&session.id).await.unwrap().is_empty());
    assert_eq!(store.open_calls(&other.id).await.unwrap().len(), 1, "another session's stay");
    let filter = CallFilter { session_id: Some(session.id), ..CallFilter::default() };
    let kept = store.calls(filter).await.unwrap();
    // The text is in the conversation: it is not kept twice.
    assert_eq!(kept[0].end, Some(end(ToolOutcome::Ok, "")));
}

pub async fn unknown_outcomes_are_listed_newest_first(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let outcomes =
        [ToolOutcome::Unknown, ToolOutcome::Ok, ToolOutcome::Unknown, ToolOutcome::Error];
    let mut ids = Vec::new();
    for outcome in outcomes {
        let intent = plain("c");
        ids.push(intent.id.clone());
        store.begin_call(&claim, intent).await.unwrap();
        store.end_call(&claim, &ids[ids.len() - 1], end(outcome, "")).await.unwrap();
    }
    store.append(&claim, results()).await.unwrap();
    let list = async |outcome, limit| {
        let filter = CallFilter { outcome, limit, ..CallFilter::default() };
        let calls = store.calls(filter).await.unwrap();
        calls.into_iter().map(|call| call.id).collect::<Vec<_>>()
    };
    assert_eq!(list(Some(ToolOutcome::Unknown), None).await, [&*ids[2], &*ids[0]]);
    assert_eq!(list(Some(ToolOutcome::Unknown), Some(1)).await, [&*ids[2]]);
    assert_eq!(list(None, None).await.len(), 4);
}

pub async fn a_call_of_another_session_cannot_be_ended(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let (_, other) = another(&*store, key("b")).await;
    let mine = plain("c1");
    store.begin_call(&claim, mine.clone()).await.unwrap();
    for (claim, id) in [(&other, mine.id.as_str()), (&claim, "nope")] {
        assert!(store.end_call(claim, id, end(ToolOutcome::Ok, "")).await.is_err());
    }
    assert_eq!(store.open_calls(&session.id).await.unwrap()[0].end, None);
}
