//! The life of a question.

use pintle_agent::{NewSession, Session, Store, StoreError};
use pintle_store::{
    Answer, AnswerResult, ApprovalFilter, ApprovalState, Decision, NewApproval, Scope, args_hash,
};
use serde_json::json;

use crate::support::{HOUR, Place, key, now, origin, question, rule, session, yes};

// R11.4, R11.6
#[tokio::test]
async fn a_question_is_stored_whole_before_anyone_is_asked() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    let new = NewApproval {
        approvers: vec!["telegram:1".into(), "web:ann".into()],
        ..question(&session)
    };
    let before = now();
    let asked = store.request_approval(new.clone()).await.unwrap();
    drop(store);

    let store = place.open().await;
    let stored = store.approval(&asked.id).await.unwrap().unwrap();
    assert_eq!(stored, asked);
    assert_eq!(stored.args, new.args);
    assert_eq!(stored.args_hash, args_hash(&new.args));
    assert_eq!((stored.tool.as_str(), stored.reason.as_str()), ("terminal", "zone build asks"));
    assert_eq!(stored.approvers, new.approvers);
    assert_eq!((stored.state, stored.expires_at), (ApprovalState::Pending, new.expires_at));
    assert!(stored.created_at >= before);
    let text: String =
        place.raw().query_row("SELECT args FROM approvals", [], |row| row.get(0)).unwrap();
    assert_eq!(text, r#"{"command":"rm -r build","cwd":"/srv"}"#);
}

#[tokio::test]
async fn a_question_without_a_session_is_refused() {
    let place = Place::new();
    let store = place.open().await;
    let mut new = question(&session(&store).await);
    new.session_id = "nope".into();
    assert!(
        matches!(store.request_approval(new).await, Err(StoreError::NoSuchSession(id)) if id == "nope")
    );
}

#[tokio::test]
async fn questions_are_listed_newest_first_and_filtered() {
    let place = Place::new();
    let store = place.open().await;
    let (a, b) = (store.create(key("a")).await.unwrap(), store.create(key("b")).await.unwrap());
    let first = store.request_approval(question(&a)).await.unwrap();
    let second = store
        .request_approval(NewApproval { tool_call_id: "c2".into(), ..question(&a) })
        .await
        .unwrap();
    let third =
        store.request_approval(NewApproval { run_id: "r3".into(), ..question(&b) }).await.unwrap();
    store.cancel_approval(&first.id, "gone").await.unwrap();
    let list = async |filter: ApprovalFilter| {
        let found = store.approvals(filter).await.unwrap();
        found.into_iter().map(|approval| approval.id).collect::<Vec<_>>()
    };
    let all = ApprovalFilter::default;
    assert_eq!(list(all()).await, [&*third.id, &*second.id, &*first.id]);
    assert_eq!(list(ApprovalFilter { limit: Some(1), ..all() }).await, [&*third.id]);
    assert_eq!(
        list(ApprovalFilter { session_id: Some(a.id), ..all() }).await,
        [&*second.id, &*first.id]
    );
    assert_eq!(list(ApprovalFilter { run_id: Some("r3".into()), ..all() }).await, [&*third.id]);
    assert_eq!(
        list(ApprovalFilter { tool_call_id: Some("c2".into()), ..all() }).await,
        [&*second.id]
    );
    let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..all() };
    assert_eq!(list(pending).await, [&*third.id, &*second.id]);
}

#[tokio::test]
async fn a_part_of_the_id_finds_a_question() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    let asked = store.request_approval(question(&session)).await.unwrap();
    let other = store.request_approval(question(&session)).await.unwrap();
    let found = async |part: &str| {
        let found = store.find_approval(part).await.unwrap();
        found.into_iter().map(|approval| approval.id).collect::<Vec<_>>()
    };
    assert_eq!(found(&asked.id).await, [&*asked.id]);
    assert_eq!(found(&asked.id[20..].to_uppercase()).await, [&*asked.id]);
    assert_eq!(found(&other.id[..35]).await, [&*other.id]);
    // Made in the same minute, so they start alike: the person is shown both.
    assert_eq!(found(&asked.id[..4]).await.len(), 2);
    for nonsense in ["", "%", "_", "zz", "' OR 1=1"] {
        assert!(found(nonsense).await.is_empty(), "{nonsense:?}");
    }
}

#[tokio::test]
async fn a_waiting_run_goes_on_when_it_is_answered() {
    let place = Place::new();
    let store = place.open().await;
    let asked = store.request_approval(question(&session(&store).await)).await.unwrap();
    let (waited, answered) = tokio::join!(
        store.wait_for_answer(&asked.id, u64::MAX),
        store.answer_approval(yes(&asked), now())
    );
    assert!(matches!(answered.unwrap(), AnswerResult::Accepted(_)));
    assert_eq!(waited.unwrap().state, ApprovalState::Approved);
}

// R11.5
#[tokio::test]
async fn waiting_ends_when_the_question_expires() {
    let place = Place::new();
    let store = place.open().await;
    let new = NewApproval { expires_at: now() + 300, ..question(&session(&store).await) };
    let asked = store.request_approval(new).await.unwrap();
    let waited = store.wait_for_answer(&asked.id, u64::MAX).await.unwrap();
    assert_eq!(waited.state, ApprovalState::Expired);
    assert!(now() >= waited.expires_at);
}

#[tokio::test]
async fn waiting_can_end_before_the_question_does() {
    let place = Place::new();
    let store = place.open().await;
    let asked = store.request_approval(question(&session(&store).await)).await.unwrap();
    let waited = store.wait_for_answer(&asked.id, now() + 50).await.unwrap();
    assert_eq!(waited.state, ApprovalState::Pending);
}

#[tokio::test]
async fn waiting_ends_when_the_session_is_deleted() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    let asked = store.request_approval(question(&session)).await.unwrap();
    let (waited, deleted) =
        tokio::join!(store.wait_for_answer(&asked.id, u64::MAX), store.delete(&session.id));
    assert!(deleted.unwrap());
    assert!(waited.unwrap_err().to_string().contains("no approval"));
}

#[tokio::test]
async fn a_run_cancelled_while_waiting_calls_its_question_off() {
    let place = Place::new();
    let store = place.open().await;
    let asked = store.request_approval(question(&session(&store).await)).await.unwrap();
    assert!(store.cancel_approval(&asked.id, "the run was cancelled").await.unwrap());
    assert!(!store.cancel_approval(&asked.id, "again").await.unwrap());
    let AnswerResult::AlreadyAnswered(stands) =
        store.answer_approval(yes(&asked), now()).await.unwrap()
    else {
        panic!("a cancelled question takes no answer")
    };
    assert_eq!(stands.state, ApprovalState::Cancelled);
    assert_eq!(stands.answer_reason.as_deref(), Some("the run was cancelled"));
    assert!(!store.consume_approval(&asked.id, &asked.args_hash).await.unwrap());
}

#[tokio::test]
async fn what_is_over_expires_and_the_rest_stays() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    let short = store
        .request_approval(NewApproval { expires_at: now() + HOUR, ..question(&session) })
        .await
        .unwrap();
    let long = store
        .request_approval(NewApproval { expires_at: u64::MAX, ..question(&session) })
        .await
        .unwrap();
    assert!(store.expire_approvals(short.expires_at - 1).await.unwrap().is_empty());
    let expired = store.expire_approvals(short.expires_at).await.unwrap();
    assert_eq!(expired.iter().map(|approval| &approval.id).collect::<Vec<_>>(), [&short.id]);
    assert_eq!(expired[0].state, ApprovalState::Expired);
    assert_eq!(store.approval(&long.id).await.unwrap().unwrap().state, ApprovalState::Pending);
}

// R11.6
#[tokio::test(flavor = "multi_thread")]
async fn a_yes_is_used_exactly_once() {
    let place = Place::new();
    let store = place.open().await;
    let asked = store.request_approval(question(&session(&store).await)).await.unwrap();
    assert!(
        !store.consume_approval(&asked.id, &asked.args_hash).await.unwrap(),
        "not answered yet"
    );
    store.answer_approval(yes(&asked), now()).await.unwrap();
    // P3: another call cannot use it.
    let swapped = args_hash(&json!({"command": "rm -r /"}));
    assert!(!store.consume_approval(&asked.id, &swapped).await.unwrap());

    let second = place.open().await;
    let users = (0..16).map(|i| {
        let store = if i % 2 == 0 { store.clone() } else { second.clone() };
        let asked = asked.clone();
        tokio::spawn(
            async move { store.consume_approval(&asked.id, &asked.args_hash).await.unwrap() },
        )
    });
    let used = futures_util::future::join_all(users).await;
    assert_eq!(used.into_iter().filter(|used| *used.as_ref().unwrap()).count(), 1);
    assert!(store.approval(&asked.id).await.unwrap().unwrap().consumed_at.is_some());
}

// R11.7: an answer says how far it reaches, and a question without a rule has no answer but this once.
#[tokio::test]
async fn a_yes_to_a_rule_needs_a_question_that_offers_one() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    for scope in [Scope::Session, Scope::Always] {
        let plain = NewApproval { rule: None, ..question(&session) };
        let plain = store.request_approval(plain).await.unwrap();
        let to_rule = |asked| Answer { decision: Decision::Approve(scope), ..yes(asked) };
        let refused = store.answer_approval(to_rule(&plain), now()).await.unwrap();
        assert_eq!(refused, AnswerResult::NoRule);
        let still = store.approval(&plain.id).await.unwrap().unwrap();
        assert_eq!(still.state, ApprovalState::Pending);

        let asked = store.request_approval(question(&session)).await.unwrap();
        store.answer_approval(to_rule(&asked), now()).await.unwrap();
        let answered = store.approval(&asked.id).await.unwrap().unwrap();
        assert_eq!((answered.scope, answered.rule), (Some(scope), Some(rule())));
    }
}

#[tokio::test]
async fn what_a_run_was_made_of_is_kept_with_its_question() {
    let place = Place::new();
    let asked = {
        let store = place.open().await;
        store.request_approval(question(&session(&store).await)).await.unwrap()
    };
    let found = place.open().await.approval(&asked.id).await.unwrap().unwrap();
    assert_eq!(found.origin, Some(origin()));
    assert_eq!(found, asked);
}

// P3: a yes that nobody acted on is not there for the next call that looks the same.
#[tokio::test]
async fn a_conversation_that_goes_on_leaves_no_question_and_no_yes_behind() {
    let place = Place::new();
    let store = place.open().await;
    let (mine, other) =
        (store.create(key("a")).await.unwrap(), store.create(key("b")).await.unwrap());
    let pending = store.request_approval(question(&mine)).await.unwrap();
    let approved = store.request_approval(question(&mine)).await.unwrap();
    store.answer_approval(yes(&approved), now()).await.unwrap();
    let elsewhere = store.request_approval(question(&other)).await.unwrap();
    let below = |parent: &Session| NewSession { parent: Some(parent.id.clone()), ..key("sub") };
    let child = store.create(below(&mine)).await.unwrap();
    let grandchild = store.create(below(&child)).await.unwrap();
    let of_a_sub_agent = store.request_approval(question(&grandchild)).await.unwrap();
    store.withdraw_approvals(&mine.id, "went on").await.unwrap();
    let state = async |id: &str| store.approval(id).await.unwrap().unwrap().state;
    assert_eq!(state(&pending.id).await, ApprovalState::Cancelled);
    assert_eq!(state(&of_a_sub_agent.id).await, ApprovalState::Cancelled);
    assert_eq!(state(&approved.id).await, ApprovalState::Approved, "that it was stays known");
    assert_eq!(state(&elsewhere.id).await, ApprovalState::Pending);
    assert!(!store.consume_approval(&approved.id, &approved.args_hash).await.unwrap());
}
