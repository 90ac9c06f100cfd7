//! Which answer counts (R11.4, R11.5).

use pintle_store::{
    Answer, AnswerResult, Approval, ApprovalState, Decision, NewApproval, OPERATOR, SqliteStore,
    args_hash,
};
use serde_json::json;

use crate::support::{HOUR, Place, now, question, session, yes};

async fn ask(store: &SqliteStore, approvers: &[&str]) -> Approval {
    let approvers = approvers.iter().map(|name| (*name).to_owned()).collect();
    store
        .request_approval(NewApproval { approvers, ..question(&session(store).await) })
        .await
        .unwrap()
}

async fn unchanged(store: &SqliteStore, asked: &Approval) {
    assert_eq!(store.approval(&asked.id).await.unwrap().as_ref(), Some(asked));
}

#[tokio::test]
async fn a_yes_says_who_when_and_how_far() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[OPERATOR]).await;
    let at = now();
    let AnswerResult::Accepted(stands) = store.answer_approval(yes(&asked), at).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(stands.state, ApprovalState::Approved);
    assert_eq!((stands.answered_by.as_deref(), stands.answered_at), (Some(OPERATOR), Some(at)));
    assert_eq!(stands.scope.map(|scope| scope.as_str()), Some("once"));
    assert_eq!(store.approval(&asked.id).await.unwrap().unwrap(), *stands);
}

#[tokio::test]
async fn a_no_carries_words_for_the_model_and_cannot_be_used() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[OPERATOR]).await;
    let no = Answer {
        decision: Decision::Deny,
        reason: Some("use `trash` instead".into()),
        ..yes(&asked)
    };
    let AnswerResult::Accepted(stands) = store.answer_approval(no, now()).await.unwrap() else {
        panic!()
    };
    assert_eq!((stands.state, stands.scope), (ApprovalState::Denied, None));
    assert_eq!(stands.answer_reason.as_deref(), Some("use `trash` instead"));
    assert!(!store.consume_approval(&asked.id, &asked.args_hash).await.unwrap());
}

#[tokio::test]
async fn a_late_answer_changes_nothing() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[OPERATOR]).await;
    let late = store.answer_approval(yes(&asked), asked.expires_at).await.unwrap();
    assert_eq!(late, AnswerResult::Expired);
    assert_eq!(store.approval(&asked.id).await.unwrap().unwrap().state, ApprovalState::Expired);
    // Setting the clock back does not help.
    assert_eq!(store.answer_approval(yes(&asked), now()).await.unwrap(), AnswerResult::Expired);
    assert!(!store.consume_approval(&asked.id, &asked.args_hash).await.unwrap());
}

#[tokio::test]
async fn an_answer_in_the_last_millisecond_counts() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[OPERATOR]).await;
    let result = store.answer_approval(yes(&asked), asked.expires_at - 1).await.unwrap();
    assert!(matches!(result, AnswerResult::Accepted(_)));
    // What was answered in time does not expire any more.
    assert!(store.expire_approvals(now() + 2 * HOUR).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_for_other_arguments_changes_nothing() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[OPERATOR]).await;
    for args_hash in
        [args_hash(&json!({"command": "ls"})), String::new(), asked.args_hash[..8].to_owned()]
    {
        let answer = Answer { args_hash, ..yes(&asked) };
        assert_eq!(store.answer_approval(answer, now()).await.unwrap(), AnswerResult::WrongHash);
    }
    unchanged(&store, &asked).await;
    assert!(matches!(
        store.answer_approval(yes(&asked), now()).await.unwrap(),
        AnswerResult::Accepted(_)
    ));
}

#[tokio::test]
async fn a_strangers_answer_changes_nothing() {
    let place = Place::new();
    let store = place.open().await;
    let (for_ann, for_operator) =
        (ask(&store, &["web:ann", "telegram:1"]).await, ask(&store, &[OPERATOR]).await);
    let by = async |asked: &Approval, who: &str| {
        store.answer_approval(Answer { by: who.to_owned(), ..yes(asked) }, now()).await.unwrap()
    };
    // `telegram:7` asked for it: that alone gives no say (R11.5). Named approvers replace the operator.
    for stranger in ["telegram:7", "operator", "", "web:an", "WEB:ANN", "web:ann ", "web:ann\",\"x"]
    {
        assert_eq!(by(&for_ann, stranger).await, AnswerResult::NotAllowed, "{stranger:?}");
    }
    for stranger in ["telegram:7", "", "Operator", "web:ann"] {
        assert_eq!(by(&for_operator, stranger).await, AnswerResult::NotAllowed, "{stranger:?}");
    }
    unchanged(&store, &for_ann).await;
    unchanged(&store, &for_operator).await;
    assert!(matches!(by(&for_ann, "web:ann").await, AnswerResult::Accepted(_)));
    assert!(matches!(by(&for_operator, "operator").await, AnswerResult::Accepted(_)));
}

// R11.5: nobody is nobody, not whoever happens to be there.
#[tokio::test]
async fn a_question_for_nobody_is_answered_by_nobody() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[]).await;
    let result = store.answer_approval(yes(&asked), now()).await.unwrap();
    assert_eq!(result, AnswerResult::NotAllowed);
    unchanged(&store, &asked).await;
}

// A no is for the call that it was said to.
#[tokio::test]
async fn a_no_is_used_up_when_its_run_has_heard_it() {
    let place = Place::new();
    let store = place.open().await;
    let (asked, other) = (ask(&store, &[OPERATOR]).await, ask(&store, &[OPERATOR]).await);
    store.consume_denial(&asked.id).await.unwrap();
    unchanged(&store, &asked).await;
    for question in [&asked, &other] {
        let no = Answer { decision: Decision::Deny, ..yes(question) };
        store.answer_approval(no, now()).await.unwrap();
    }
    let waits = async |asked: &Approval| {
        store.approval(&asked.id).await.unwrap().unwrap().waits_for_its_run()
    };
    assert!(waits(&asked).await && waits(&other).await);
    store.consume_denial(&asked.id).await.unwrap();
    assert!(!waits(&asked).await && waits(&other).await);
    store.withdraw_approvals(&other.session_id, "the conversation went on").await.unwrap();
    assert!(!waits(&other).await);
}

#[tokio::test]
async fn the_one_who_asked_may_answer_when_named() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &["telegram:7"]).await;
    let answer = Answer { by: "telegram:7".into(), ..yes(&asked) };
    assert!(matches!(
        store.answer_approval(answer, now()).await.unwrap(),
        AnswerResult::Accepted(_)
    ));
}

#[tokio::test]
async fn a_repeated_answer_changes_nothing_and_tells_who_was_first() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &["a", "b"]).await;
    let first = Answer { by: "a".into(), ..yes(&asked) };
    let second = Answer { by: "b".into(), decision: Decision::Deny, ..yes(&asked) };
    let AnswerResult::Accepted(stands) = store.answer_approval(first.clone(), now()).await.unwrap()
    else {
        panic!()
    };
    for again in [first, second] {
        let result = store.answer_approval(again, now()).await.unwrap();
        assert_eq!(result, AnswerResult::AlreadyAnswered(stands.clone()));
    }
    unchanged(&store, &stands).await;
}

#[tokio::test]
async fn an_answer_to_nothing_says_so() {
    let place = Place::new();
    let store = place.open().await;
    let mut answer = yes(&ask(&store, &[OPERATOR]).await);
    answer.id = "0190".into();
    assert_eq!(store.answer_approval(answer, now()).await.unwrap(), AnswerResult::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_answers_at_once_exactly_one_is_accepted() {
    let place = Place::new();
    let stores = [place.open().await, place.open().await];
    for _ in 0..10 {
        let asked = ask(&stores[0], &[OPERATOR]).await;
        let answers = (0..8).map(|i| {
            let decision = if i % 3 == 0 { Decision::Deny } else { yes(&asked).decision };
            let answer = Answer { decision, reason: Some(format!("answer {i}")), ..yes(&asked) };
            let store = stores[i % 2].clone();
            tokio::spawn(async move { store.answer_approval(answer, now()).await.unwrap() })
        });
        let results: Vec<_> = futures_util::future::join_all(answers)
            .await
            .into_iter()
            .map(|result| result.unwrap())
            .collect();
        let accepted: Vec<_> =
            results.iter().filter(|result| matches!(result, AnswerResult::Accepted(_))).collect();
        let [AnswerResult::Accepted(winner)] = accepted[..] else {
            panic!("{} were accepted", accepted.len())
        };
        // Everybody else is told about that one.
        for result in &results {
            let (AnswerResult::Accepted(stands) | AnswerResult::AlreadyAnswered(stands)) = result
            else {
                panic!()
            };
            assert_eq!(stands, winner);
        }
    }
}

// P3: an answer is about what was shown.
#[tokio::test]
async fn an_answer_to_arguments_that_were_changed_in_the_file_does_not_count() {
    let place = Place::new();
    let store = place.open().await;
    let asked = ask(&store, &[OPERATOR]).await;
    assert!(asked.shows_what_runs());
    let args = asked.args.to_string();
    let write = |args: &str| {
        place.raw().execute("UPDATE approvals SET args = ?1", [args]).unwrap();
    };
    write(r#"{"command":"true"}"#);
    let forged = store.approval(&asked.id).await.unwrap().unwrap();
    assert!(!forged.shows_what_runs());
    let result = store.answer_approval(yes(&asked), now()).await.unwrap();
    assert_eq!(result, AnswerResult::WrongHash);
    write(&args);
    let result = store.answer_approval(yes(&asked), now()).await.unwrap();
    assert!(matches!(result, AnswerResult::Accepted(_)), "{result:?}");
}
