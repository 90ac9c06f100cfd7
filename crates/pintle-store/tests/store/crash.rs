//! `kill -9` at any moment: what was acknowledged is there afterwards, whole.

use std::collections::HashSet;

use pintle_agent::Store;
use pintle_store::{AnswerResult, ApprovalState, SqliteStore};
use uuid::Uuid;

use crate::child::{Other, role, tell};
use crate::support::{Place, integrity, key, now, question, said, session, texts, yes};

const KILLS: usize = 20;

/// A number that differs from round to round.
fn random(below: u128) -> usize {
    usize::try_from((Uuid::now_v7().as_u128() & 0xFFFF_FFFF) % below).unwrap()
}

/// Lets the child do a random number of steps, then kills it wherever it is; what it told in all.
fn kill_at_a_random_moment(test: &str, place: &Place) -> Vec<String> {
    let mut child = Other::start(test, &place.db());
    let mut told = Vec::new();
    for _ in 0..=random(25) {
        told.push(child.next().expect("the child goes on until it is killed"));
    }
    // Some way into the next step, which takes about this long.
    for _ in 0..random(200_000) {
        std::hint::spin_loop();
    }
    told.extend(child.kill());
    told
}

async fn append_for_ever(store: SqliteStore) {
    let id = session(&store).await.id;
    loop {
        let turn = Uuid::now_v7().to_string();
        // Several writers, so that kills also hit shared commits.
        let appends = (0..3).map(|writer| {
            let (store, id, turn) = (store.clone(), id.clone(), format!("{turn}/{writer}"));
            async move {
                let padding = "x".repeat(random(9000));
                let parts = ["1", "2", "3"].map(|part| said(&format!("{turn}/{part} {padding}")));
                store.append(&id, parts.to_vec()).await.unwrap();
                tell(&turn);
            }
        });
        futures_util::future::join_all(appends).await;
    }
}

#[tokio::test]
async fn an_acknowledged_append_survives_kill_9_and_is_never_halved() {
    if let Some(db) = role() {
        return append_for_ever(SqliteStore::open(db).await.unwrap()).await;
    }
    let place = Place::new();
    let mut acknowledged = Vec::new();
    for round in 0..KILLS {
        let test = "crash::an_acknowledged_append_survives_kill_9_and_is_never_halved";
        acknowledged.extend(kill_at_a_random_moment(test, &place));
        assert_eq!(integrity(&place.db()), "ok", "round {round}");

        let store = place.open().await;
        let session = session(&store).await;
        let stored: Vec<String> = texts(&store, &session.id)
            .await
            .into_iter()
            .map(|text| text.split_once(' ').map_or(text.clone(), |(name, _)| name.to_owned()))
            .collect();
        let whole: HashSet<String> = stored
            .chunks(3)
            .map(|parts| {
                let turn = parts[0].strip_suffix("/1").unwrap().to_owned();
                assert_eq!(parts[1..], [format!("{turn}/2"), format!("{turn}/3")], "round {round}");
                turn
            })
            .collect();
        for turn in &acknowledged {
            assert!(whole.contains(turn), "round {round}: {turn} was acknowledged and is gone");
        }
        assert_eq!(session.message_count, u64::try_from(stored.len()).unwrap());
    }
    assert!(acknowledged.len() >= KILLS);
}

async fn ask_answer_and_use_for_ever(store: SqliteStore) {
    let session = store.open(key("cli:default")).await.unwrap();
    loop {
        let asked = store.request_approval(question(&session)).await.unwrap();
        tell(&format!("asked {}", asked.id));
        let answered = store.answer_approval(yes(&asked), now()).await.unwrap();
        assert!(matches!(answered, AnswerResult::Accepted(_)));
        tell(&format!("answered {}", asked.id));
        assert!(store.consume_approval(&asked.id, &asked.args_hash).await.unwrap());
        tell(&format!("used {}", asked.id));
    }
}

// R11.6
#[tokio::test]
async fn an_approval_survives_kill_9_between_any_two_steps_and_is_used_once() {
    if let Some(db) = role() {
        return ask_answer_and_use_for_ever(SqliteStore::open(db).await.unwrap()).await;
    }
    let place = Place::new();
    for round in 0..KILLS {
        let test = "crash::an_approval_survives_kill_9_between_any_two_steps_and_is_used_once";
        let told = kill_at_a_random_moment(test, &place);
        let store = place.open().await;
        for step in &told {
            let (step, id) = step.split_once(' ').unwrap();
            let approval = store
                .approval(id)
                .await
                .unwrap()
                .unwrap_or_else(|| panic!("round {round}: {id} is gone"));
            match step {
                "asked" => {}
                "answered" => assert_eq!(approval.state, ApprovalState::Approved, "round {round}"),
                "used" => assert!(
                    !store.consume_approval(id, &approval.args_hash).await.unwrap(),
                    "round {round}"
                ),
                other => panic!("unknown step {other}"),
            }
        }
        // The one it died in goes on from where it was, and is used exactly once.
        let last = told.iter().rev().find_map(|step| step.strip_prefix("asked ")).unwrap();
        let last = store.approval(last).await.unwrap().unwrap();
        if last.state == ApprovalState::Pending {
            assert!(matches!(
                store.answer_approval(yes(&last), now()).await.unwrap(),
                AnswerResult::Accepted(_)
            ));
        }
        let uses = [
            last.consumed_at.is_some(),
            store.consume_approval(&last.id, &last.args_hash).await.unwrap(),
            store.consume_approval(&last.id, &last.args_hash).await.unwrap(),
        ];
        assert_eq!(uses.iter().filter(|used| **used).count(), 1, "round {round}");
    }
    assert_eq!(integrity(&place.db()), "ok");
}
