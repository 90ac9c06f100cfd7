//! `kill -9` at any moment: what was acknowledged is there afterwards, whole.

use std::collections::HashSet;

use pintle_agent::store::{
    AnswerResult, Approval, ApprovalState, Approvals, Begun, Claim, Ledger, NewTicket, Sessions,
    TicketMove, TicketState, Tickets,
};
use pintle_store::SqliteStore;
use uuid::Uuid;

use crate::child::{Other, role, tell};
use crate::random::Random;
use crate::support::{Place, claimed, integrity, intent, question, said, session, texts, yes};

const KILLS: usize = 20;

/// Lets the child do a random number of steps, then kills it wherever it is; what it told in all.
fn kill_at_a_random_moment(test: &str, place: &Place, random: &mut Random) -> Vec<String> {
    let mut child = Other::start(test, &place.db());
    let mut told = Vec::new();
    for _ in 0..=random.below(25) {
        told.push(child.next().expect("the child goes on until it is killed"));
    }
    // Some way into the next step, which takes about this long.
    for _ in 0..random.below(200_000) {
        std::hint::spin_loop();
    }
    told.extend(child.kill());
    told
}

async fn append_for_ever(store: SqliteStore) {
    let claim = claimed(&store).await;
    for turns in 0.. {
        let turn = Uuid::now_v7().to_string();
        // Several writers, so that kills also hit shared commits.
        let appends = (0..3).map(|writer| {
            let (store, claim, turn) = (&store, &claim, format!("{turn}/{writer}"));
            async move {
                let padding = "x".repeat(turns * 997 % 9000);
                let parts = ["1", "2", "3"].map(|part| said(&format!("{turn}/{part} {padding}")));
                store.append(claim, parts.to_vec()).await.unwrap();
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
    let (place, mut random) = (Place::new(), Random::new());
    let mut acknowledged = Vec::new();
    for round in 0..KILLS {
        let test = "crash::an_acknowledged_append_survives_kill_9_and_is_never_halved";
        acknowledged.extend(kill_at_a_random_moment(test, &place, &mut random));
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
    let claim = claimed(&store).await;
    loop {
        let asked = store.request_approval(&claim, question()).await.unwrap();
        tell(&format!("asked {}", asked.id));
        let answered = store.answer_approval(yes(&asked)).await.unwrap();
        assert!(matches!(answered, AnswerResult::Accepted(_)));
        tell(&format!("answered {}", asked.id));
        assert!(uses(&store, &claim, &asked).await);
        tell(&format!("used {}", asked.id));
    }
}

async fn uses(store: &SqliteStore, claim: &Claim, approval: &Approval) -> bool {
    store.begin_call(claim, intent(approval)).await.unwrap() == Begun::Started
}

// R11.6
#[tokio::test]
async fn an_approval_survives_kill_9_between_any_two_steps_and_is_used_once() {
    if let Some(db) = role() {
        return ask_answer_and_use_for_ever(SqliteStore::open(db).await.unwrap()).await;
    }
    let (place, mut random) = (Place::new(), Random::new());
    for round in 0..KILLS {
        let test = "crash::an_approval_survives_kill_9_between_any_two_steps_and_is_used_once";
        let told = kill_at_a_random_moment(test, &place, &mut random);
        let store = place.open().await;
        // Its owner is dead: it is free at once.
        let claim = claimed(&store).await;
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
                "used" => assert!(!uses(&store, &claim, &approval).await, "round {round}"),
                other => panic!("unknown step {other}"),
            }
        }
        // The one it died in goes on from where it was, and is used exactly once.
        let last = told.iter().rev().find_map(|step| step.strip_prefix("asked ")).unwrap();
        let last = store.approval(last).await.unwrap().unwrap();
        if last.state == ApprovalState::Pending {
            assert!(matches!(
                store.answer_approval(yes(&last)).await.unwrap(),
                AnswerResult::Accepted(_)
            ));
        }
        let used = [
            last.consumed_at.is_some(),
            uses(&store, &claim, &last).await,
            uses(&store, &claim, &last).await,
        ];
        assert_eq!(used.iter().filter(|used| **used).count(), 1, "round {round}");
    }
    assert_eq!(integrity(&place.db()), "ok");
}

async fn create_take_and_complete_for_ever(store: SqliteStore) {
    loop {
        let new = NewTicket { title: "it".to_owned(), ..NewTicket::default() };
        let todo = store.create_ticket(new).await.unwrap();
        tell(&format!("todo {}", todo.id));
        let take = TicketMove::Take { assignee: "main".to_owned() };
        let running = store.move_ticket(&todo, take).await.unwrap().unwrap();
        tell(&format!("running {}", todo.id));
        let accept = TicketMove::Accept { summary: "did it".to_owned() };
        store.move_ticket(&running, accept).await.unwrap().unwrap();
        tell(&format!("done {}", todo.id));
    }
}

// §14
#[tokio::test]
async fn a_ticket_survives_kill_9_between_any_two_steps_and_can_go_on() {
    if let Some(db) = role() {
        return create_take_and_complete_for_ever(SqliteStore::open(db).await.unwrap()).await;
    }
    let (place, mut random) = (Place::new(), Random::new());
    for round in 0..KILLS {
        let test = "crash::a_ticket_survives_kill_9_between_any_two_steps_and_can_go_on";
        let told = kill_at_a_random_moment(test, &place, &mut random);
        let store = place.open().await;
        for step in &told {
            let (reached, id) = step.split_once(' ').unwrap();
            let ticket = store.ticket(id.parse().unwrap()).await.unwrap().unwrap();
            let place = |name| TicketState::ALL.iter().position(|it| it.name() == name).unwrap();
            assert!(place(ticket.state.name()) >= place(reached), "round {round}: {step}");
        }
        // What was not done when it died is done now; a completion counts once.
        for ticket in store.tickets(None).await.unwrap() {
            let take = TicketMove::Take { assignee: "main".to_owned() };
            let taken = store.move_ticket(&ticket, take).await.unwrap().unwrap_or(ticket);
            let accept = TicketMove::Accept { summary: "did it".to_owned() };
            let _ = store.move_ticket(&taken, accept).await.unwrap();
        }
        let done = store.tickets(Some(TicketState::Done)).await.unwrap().len();
        assert_eq!(store.tickets(None).await.unwrap().len(), done, "round {round}");
        let accepted = store.reputation("main").await.unwrap().accepted;
        assert_eq!(accepted, u64::try_from(done).unwrap(), "round {round}");
    }
    assert_eq!(integrity(&place.db()), "ok");
}
