//! Which answer is valid (R11.4, R11.5, R11.7).

use futures_util::future::join_all;
use serde_json::json;

use super::{
    StorePlace,
    support::{claimed, intent, no, now, question, rule, yes},
};
use crate::{
    call::args_hash,
    store::{
        Answer, AnswerResult, Approval, ApprovalState, Begun, Claim, Decision, NewApproval,
        OPERATOR, Scope, Store,
    },
};

async fn ask(store: &dyn Store, claim: &Claim, approvers: &[&str]) -> Approval {
    let approvers = approvers.iter().map(|name| (*name).to_owned()).collect();
    store.request_approval(claim, NewApproval { approvers, ..question() }).await.unwrap()
}

async fn unchanged(store: &dyn Store, asked: &Approval) {
    assert_eq!(store.approval(&asked.id).await.unwrap().as_ref(), Some(asked));
}

async fn accepted(store: &dyn Store, answer: Answer) -> Approval {
    match store.answer_approval(answer).await.unwrap() {
        AnswerResult::Accepted(approval) => *approval,
        other => panic!("{other:?}"),
    }
}

pub async fn an_approval_says_who_when_and_how_far(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &[OPERATOR]).await;
    let at = now();
    let stands = accepted(&*store, yes(&asked)).await;
    assert_eq!(stands.state, ApprovalState::Approved);
    assert_eq!(stands.answered_by.as_deref(), Some(OPERATOR));
    assert!(stands.answered_at.is_some_and(|answered| answered >= at));
    assert_eq!(stands.scope, Some(Scope::Once));
    assert_eq!(store.approval(&asked.id).await.unwrap().unwrap(), stands);
}

pub async fn a_denial_carries_words_for_the_model_and_cannot_be_used(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &[OPERATOR]).await;
    let reason = Some("use `trash` instead".into());
    let stands = accepted(&*store, Answer { reason, ..no(&asked) }).await;
    assert_eq!((stands.state, stands.scope), (ApprovalState::Denied, None));
    assert_eq!(stands.answer_reason.as_deref(), Some("use `trash` instead"));
    let begun = store.begin_call(&claim, intent(&asked)).await.unwrap();
    assert_eq!(begun, Begun::ApprovalUsed);
}

pub async fn a_late_answer_changes_nothing(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let new = NewApproval { expires_at: now(), ..question() };
    let asked = store.request_approval(&claim, new).await.unwrap();
    for answer in [yes(&asked), no(&asked)] {
        assert_eq!(store.answer_approval(answer).await.unwrap(), AnswerResult::Expired);
    }
    let stands = store.approval(&asked.id).await.unwrap().unwrap();
    assert_eq!((stands.state, stands.answered_by), (ApprovalState::Expired, None));
    let begun = store.begin_call(&claim, intent(&asked)).await.unwrap();
    assert_eq!(begun, Begun::ApprovalUsed);
}

pub async fn an_answer_for_other_arguments_changes_nothing(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &[OPERATOR]).await;
    for args_hash in
        [args_hash(&json!({"command": "ls"})), String::new(), asked.args_hash[..8].to_owned()]
    {
        let answer = Answer { args_hash, ..yes(&asked) };
        assert_eq!(store.answer_approval(answer).await.unwrap(), AnswerResult::WrongHash);
    }
    unchanged(&*store, &asked).await;
    accepted(&*store, yes(&asked)).await;
}

pub async fn a_strangers_answer_changes_nothing(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let for_ann = ask(&*store, &claim, &["web:ann", "telegram:1"]).await;
    let for_operator = ask(&*store, &claim, &[OPERATOR]).await;
    let by = async |asked: &Approval, who: &str| {
        store.answer_approval(Answer { by: who.to_owned(), ..yes(asked) }).await.unwrap()
    };
    // `telegram:7` asked for it, which gives no right to answer (R11.5). Named approvers replace the operator.
    for stranger in ["telegram:7", "operator", "", "web:an", "WEB:ANN", "web:ann ", "web:ann\",\"x"]
    {
        assert_eq!(by(&for_ann, stranger).await, AnswerResult::NotAllowed, "{stranger:?}");
    }
    for stranger in ["telegram:7", "", "Operator", "web:ann"] {
        assert_eq!(by(&for_operator, stranger).await, AnswerResult::NotAllowed, "{stranger:?}");
    }
    unchanged(&*store, &for_ann).await;
    unchanged(&*store, &for_operator).await;
    assert!(matches!(by(&for_ann, "web:ann").await, AnswerResult::Accepted(_)));
    assert!(matches!(by(&for_operator, "operator").await, AnswerResult::Accepted(_)));
}

pub async fn a_question_without_approvers_takes_no_answer(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &[]).await;
    assert_eq!(store.answer_approval(yes(&asked)).await.unwrap(), AnswerResult::NotAllowed);
    unchanged(&*store, &asked).await;
}

pub async fn a_denial_is_used_up_when_its_run_has_acted_on_it(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &[OPERATOR]).await;
    let other = ask(&*store, &claim, &[OPERATOR]).await;
    store.acknowledge_denial(&claim, &asked.id).await.unwrap();
    unchanged(&*store, &asked).await;
    for question in [&asked, &other] {
        accepted(&*store, no(question)).await;
    }
    let waits = async |asked: &Approval| {
        store.approval(&asked.id).await.unwrap().unwrap().waits_for_its_run()
    };
    assert!(waits(&asked).await && waits(&other).await);
    store.acknowledge_denial(&claim, &asked.id).await.unwrap();
    assert!(!waits(&asked).await && waits(&other).await);
    store.withdraw_approvals(&claim, "the conversation went on").await.unwrap();
    assert!(!waits(&other).await);
}

pub async fn the_one_who_asked_may_answer_when_named(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &["telegram:7"]).await;
    accepted(&*store, Answer { by: "telegram:7".into(), ..yes(&asked) }).await;
}

pub async fn a_repeated_answer_changes_nothing_and_names_the_first(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &["a", "b"]).await;
    let first = Answer { by: "a".into(), ..yes(&asked) };
    let second = Answer { by: "b".into(), ..no(&asked) };
    let stands = accepted(&*store, first.clone()).await;
    for again in [first, second] {
        let result = store.answer_approval(again).await.unwrap();
        assert_eq!(result, AnswerResult::AlreadyAnswered(Box::new(stands.clone())));
    }
    unchanged(&*store, &stands).await;
}

pub async fn an_answer_to_nothing_says_so(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let asked = ask(&*store, &claim, &[OPERATOR]).await;
    let answer = Answer { id: "0190".into(), ..yes(&asked) };
    assert_eq!(store.answer_approval(answer).await.unwrap(), AnswerResult::Unknown);
}

pub async fn of_many_answers_at_once_exactly_one_is_accepted(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    let stores = [store.clone(), place.open().await];
    for _ in 0..5 {
        let asked = ask(&*store, &claim, &[OPERATOR]).await;
        let answers = (0..8).map(|i| {
            let decision = if i % 3 == 0 { Decision::Deny } else { yes(&asked).decision };
            let answer = Answer { decision, reason: Some(format!("answer {i}")), ..yes(&asked) };
            stores[i % 2].answer_approval(answer)
        });
        let results: Vec<_> =
            join_all(answers).await.into_iter().map(|result| result.unwrap()).collect();
        let accepted: Vec<_> =
            results.iter().filter(|result| matches!(result, AnswerResult::Accepted(_))).collect();
        let [AnswerResult::Accepted(winner)] = accepted[..] else {
            panic!("{} were accepted", accepted.len())
        };
        for result in &results {
            let (AnswerResult::Accepted(stands) | AnswerResult::AlreadyAnswered(stands)) = result
            else {
                panic!("{result:?}")
            };
            assert_eq!(stands, winner);
        }
    }
}

// R11.7: an answer says how far it reaches, and a question without a rule has no answer but this once.
pub async fn an_approval_of_a_rule_needs_a_question_that_offers_one(place: &dyn StorePlace) {
    let (store, _, claim) = claimed(place).await;
    for scope in [Scope::Session, Scope::Always] {
        let plain = NewApproval { rule: None, ..question() };
        let plain = store.request_approval(&claim, plain).await.unwrap();
        let to_rule = |asked| Answer { decision: Decision::Approve(scope), ..yes(asked) };
        let refused = store.answer_approval(to_rule(&plain)).await.unwrap();
        assert_eq!(refused, AnswerResult::NoRule);
        unchanged(&*store, &plain).await;

        let asked = store.request_approval(&claim, question()).await.unwrap();
        let answered = accepted(&*store, to_rule(&asked)).await;
        assert_eq!((answered.scope, answered.rule), (Some(scope), Some(rule())));
    }
}
