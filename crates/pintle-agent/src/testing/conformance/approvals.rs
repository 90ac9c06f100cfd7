//! The life of a question (R11.4, R11.6).

use super::{
    StorePlace,
    support::{HOUR, another, claimed, intent, key, now, question, yes},
};
use crate::{
    call::args_hash,
    store::{AnswerResult, ApprovalFilter, ApprovalState, Begun, NewApproval, NewSession, Session},
};

pub async fn a_question_is_stored_whole_before_anyone_is_asked(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let approvers = vec!["telegram:1".into(), "web:ann".into()];
    let new = NewApproval { approvers, ..question() };
    let before = now();
    let asked = store.request_approval(&claim, new.clone()).await.unwrap();
    drop((claim, store));

    let stored = place.open().await.approval(&asked.id).await.unwrap().unwrap();
    assert_eq!(stored, asked);
    assert_eq!((&stored.session_id, &stored.args), (&session.id, &new.args));
    assert_eq!(stored.args_hash, args_hash(&new.args));
    assert_eq!((stored.tool.as_str(), stored.reason.as_str()), ("terminal", "zone build asks"));
    assert_eq!(stored.approvers, new.approvers);
    assert_eq!((stored.state, stored.expires_at), (ApprovalState::Pending, new.expires_at));
    assert_eq!((stored.origin, stored.rule), (new.origin, new.rule));
    assert!(stored.created_at >= before);
}

pub async fn questions_are_listed_newest_first_and_filtered(place: &dyn StorePlace) {
    let (store, a, claim) = claimed(place).await;
    let (_, other) = another(&*store, key("b")).await;
    let first = store.request_approval(&claim, question()).await.unwrap();
    let second = NewApproval { tool_call_id: "c2".into(), ..question() };
    let second = store.request_approval(&claim, second).await.unwrap();
    let third = NewApproval { run_id: "r3".into(), ..question() };
    let third = store.request_approval(&other, third).await.unwrap();
    store.cancel_approval(&claim, &first.id, "gone").await.unwrap();
    let list = async |filter: ApprovalFilter| {
        let found = store.approvals(filter).await.unwrap();
        found.into_iter().map(|approval| approval.id).collect::<Vec<_>>()
    };
    let all = ApprovalFilter::default;
    assert_eq!(list(all()).await, [&*third.id, &*second.id, &*first.id]);
    assert_eq!(list(ApprovalFilter { limit: Some(1), ..all() }).await, [&*third.id]);
    let of_a = ApprovalFilter { session_id: Some(a.id), ..all() };
    assert_eq!(list(of_a).await, [&*second.id, &*first.id]);
    assert_eq!(list(ApprovalFilter { run_id: Some("r3".into()), ..all() }).await, [&*third.id]);
    let of_call = ApprovalFilter { tool_call_id: Some("c2".into()), ..all() };
    assert_eq!(list(of_call).await, [&*second.id]);
    let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..all() };
    assert_eq!(list(pending).await, [&*third.id, &*second.id]);
}

pub async fn a_part_of_the_id_finds_a_question(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = store.request_approval(&claim, question()).await.unwrap();
    let other = store.request_approval(&claim, question()).await.unwrap();
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

pub async fn a_waiting_run_goes_on_when_it_is_answered(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    for answering in [place.open().await, store.clone()] {
        let asked = store.request_approval(&claim, question()).await.unwrap();
        let (waited, answered) =
            tokio::join!(store.wait_for_answer(&asked.id), answering.answer_approval(yes(&asked)));
        assert!(matches!(answered.unwrap(), AnswerResult::Accepted(_)));
        assert_eq!(waited.unwrap().state, ApprovalState::Approved);
    }
}

// R11.5
pub async fn waiting_ends_when_the_question_expires(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let new = NewApproval { expires_at: now() + 100, ..question() };
    let asked = store.request_approval(&claim, new).await.unwrap();
    let waited = store.wait_for_answer(&asked.id).await.unwrap();
    assert_eq!(waited.state, ApprovalState::Expired);
    assert!(now() >= waited.expires_at);
}

pub async fn waiting_ends_when_the_session_is_deleted(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = store.request_approval(&claim, question()).await.unwrap();
    let (waited, deleted) = tokio::join!(store.wait_for_answer(&asked.id), store.delete(&claim));
    deleted.unwrap();
    assert!(waited.unwrap_err().to_string().contains("no approval"));
}

pub async fn a_run_cancelled_while_waiting_calls_its_question_off(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = store.request_approval(&claim, question()).await.unwrap();
    assert!(store.cancel_approval(&claim, &asked.id, "the run was cancelled").await.unwrap());
    assert!(!store.cancel_approval(&claim, &asked.id, "again").await.unwrap());
    let AnswerResult::AlreadyAnswered(stands) = store.answer_approval(yes(&asked)).await.unwrap()
    else {
        panic!("a cancelled question takes no answer")
    };
    assert_eq!(stands.state, ApprovalState::Cancelled);
    assert_eq!(stands.answer_reason.as_deref(), Some("the run was cancelled"));
    let begun = store.begin_call(&claim, intent(&asked)).await.unwrap();
    assert_eq!(begun, Begun::ApprovalUsed);
}

pub async fn a_run_can_call_off_only_its_own_questions(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let (_, other) = another(&*store, key("b")).await;
    let asked = store.request_approval(&other, question()).await.unwrap();
    assert!(!store.cancel_approval(&claim, &asked.id, "not mine").await.unwrap());
    store.withdraw_approvals(&claim, "not mine").await.unwrap();
    assert_eq!(store.approval(&asked.id).await.unwrap(), Some(asked));
}

pub async fn expired_questions_are_marked_and_the_rest_stays(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let ask = async |expires_at| {
        store.request_approval(&claim, NewApproval { expires_at, ..question() }).await.unwrap()
    };
    let (over, long, endless) = (ask(now()).await, ask(now() + HOUR).await, ask(u64::MAX).await);
    let expired = store.expire_approvals().await.unwrap();
    assert_eq!(expired.iter().map(|approval| &approval.id).collect::<Vec<_>>(), [&over.id]);
    assert_eq!(expired[0].state, ApprovalState::Expired);
    assert!(store.expire_approvals().await.unwrap().is_empty());
    for stays in [long, endless] {
        assert_eq!(store.approval(&stays.id).await.unwrap().unwrap().state, stays.state);
    }
}

// P3: an approval that no run acted on is not there for the next call that looks the same.
pub async fn a_conversation_that_goes_on_leaves_no_question_and_no_approval_behind(
    place: &dyn StorePlace,
) {
    let (store, mine, claim) = claimed(place).await;
    let (_, other) = another(&*store, key("b")).await;
    let below = |parent: &Session| NewSession { parent: Some(parent.id.clone()), ..key("sub") };
    let (child, _child) = another(&*store, below(&mine)).await;
    let (_, grandchild) = another(&*store, below(&child)).await;
    let pending = store.request_approval(&claim, question()).await.unwrap();
    let approved = store.request_approval(&claim, question()).await.unwrap();
    store.answer_approval(yes(&approved)).await.unwrap();
    let elsewhere = store.request_approval(&other, question()).await.unwrap();
    let of_a_sub_agent = store.request_approval(&grandchild, question()).await.unwrap();
    store.withdraw_approvals(&claim, "went on").await.unwrap();
    let state = async |id: &str| store.approval(id).await.unwrap().unwrap().state;
    assert_eq!(state(&pending.id).await, ApprovalState::Cancelled);
    assert_eq!(state(&of_a_sub_agent.id).await, ApprovalState::Cancelled);
    assert_eq!(state(&approved.id).await, ApprovalState::Approved, "that it was stays known");
    assert_eq!(state(&elsewhere.id).await, ApprovalState::Pending);
    let begun = store.begin_call(&claim, intent(&approved)).await.unwrap();
    assert_eq!(begun, Begun::ApprovalUsed);
}
