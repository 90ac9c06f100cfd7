//! §14: a ticket is in one state, and moves only if it has not been moved meanwhile.

use std::sync::Arc;

use super::StorePlace;
use crate::store::{NewTicket, Reputation, Store, Ticket, TicketMove, TicketState};

fn new(title: &str) -> NewTicket {
    NewTicket {
        title: title.to_owned(),
        acceptance_criteria: Some("all tests pass\n\"quoted\" 漢".to_owned()),
        check: Some("cargo test".to_owned()),
        created_by: "ann".to_owned(),
    }
}

fn take(assignee: &str) -> TicketMove {
    TicketMove::Take { assignee: assignee.to_owned() }
}

fn accept() -> TicketMove {
    TicketMove::Accept { summary: "did it".to_owned() }
}

fn reject() -> TicketMove {
    TicketMove::Reject { summary: "did it".to_owned(), reason: "no tests".to_owned() }
}

/// A ticket of `main` that runs.
async fn running(store: &dyn Store) -> Ticket {
    let ticket = store.create_ticket(new("a")).await.unwrap();
    store.move_ticket(&ticket, take("main")).await.unwrap().unwrap()
}

pub async fn a_ticket_is_the_same_after_reopening(place: &dyn StorePlace) {
    let store = place.open().await;
    let created = store.create_ticket(new("mend the door")).await.unwrap();
    assert_eq!((created.state, created.assignee.as_deref()), (TicketState::Todo, None));
    let taken = store.move_ticket(&created, take("main")).await.unwrap().unwrap();
    let rejected = store.move_ticket(&taken, reject()).await.unwrap().unwrap();
    assert_eq!(rejected.state, TicketState::NeedsRevision);
    assert_eq!(rejected.reason.as_deref(), Some("no tests"));
    let again = place.open().await.ticket(created.id).await.unwrap().unwrap();
    assert_eq!(again, rejected);
    assert_eq!((again.title, again.check), (created.title, Some("cargo test".to_owned())));
    assert_eq!(store.ticket(created.id + 99).await.unwrap(), None);
}

pub async fn tickets_are_listed_newest_first_and_by_state(place: &dyn StorePlace) {
    let store = place.open().await;
    let titles = |tickets: Vec<Ticket>| {
        tickets.into_iter().map(|ticket| ticket.title).collect::<Vec<_>>().join(" ")
    };
    running(&*store).await;
    store.create_ticket(new("b")).await.unwrap();
    store.create_ticket(new("c")).await.unwrap();
    assert_eq!(titles(store.tickets(None).await.unwrap()), "c b a");
    assert_eq!(titles(store.tickets(Some(TicketState::Todo)).await.unwrap()), "c b");
    assert_eq!(titles(store.tickets(Some(TicketState::Running)).await.unwrap()), "a");
    assert_eq!(titles(store.tickets(Some(TicketState::Done)).await.unwrap()), "");
}

pub async fn a_ticket_moves_only_along_the_board(place: &dyn StorePlace) {
    let store = place.open().await;
    let todo = store.create_ticket(new("a")).await.unwrap();
    for step in [accept(), reject(), TicketMove::Release] {
        assert_eq!(store.move_ticket(&todo, step).await.unwrap(), None);
    }
    let taken = store.move_ticket(&todo, take("main")).await.unwrap().unwrap();
    assert_eq!(store.move_ticket(&taken, take("other")).await.unwrap(), None);
    let released = store.move_ticket(&taken, TicketMove::Release).await.unwrap().unwrap();
    assert_eq!((released.state, &released.assignee), (TicketState::Todo, &None));
    let taken = store.move_ticket(&released, take("main")).await.unwrap().unwrap();
    let revised = store.move_ticket(&taken, reject()).await.unwrap().unwrap();
    assert_eq!(store.move_ticket(&revised, accept()).await.unwrap(), None);
    let taken = store.move_ticket(&revised, take("other")).await.unwrap().unwrap();
    let done = store.move_ticket(&taken, accept()).await.unwrap().unwrap();
    assert_eq!((done.state, &done.reason), (TicketState::Done, &None));
    for step in [take("main"), accept(), reject(), TicketMove::Release] {
        assert_eq!(store.move_ticket(&done, step).await.unwrap(), None);
    }
    assert_eq!(store.ticket(todo.id).await.unwrap(), Some(done));
}

pub async fn a_ticket_that_moved_meanwhile_does_not_move_again(place: &dyn StorePlace) {
    let store = place.open().await;
    let seen = running(&*store).await;
    // It was rejected and taken again: the same state, and not the same work.
    let elsewhere = place.open().await;
    let revised = elsewhere.move_ticket(&seen, reject()).await.unwrap().unwrap();
    let retaken = elsewhere.move_ticket(&revised, take("main")).await.unwrap().unwrap();
    assert_eq!(retaken.state, seen.state);
    assert_eq!(store.move_ticket(&seen, accept()).await.unwrap(), None);
    assert_eq!(store.ticket(seen.id).await.unwrap(), Some(retaken.clone()));
    assert!(elsewhere.delete_ticket(seen.id).await.unwrap());
    assert_eq!(store.move_ticket(&retaken, accept()).await.unwrap(), None);
}

pub async fn of_many_completions_at_once_exactly_one_is_accepted(place: &dyn StorePlace) {
    let store = place.open().await;
    let seen = running(&*store).await;
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..8 {
        stores.push(place.open().await);
    }
    let completions = stores.iter().map(|store| store.move_ticket(&seen, accept()));
    let moved = futures_util::future::join_all(completions).await;
    assert_eq!(moved.into_iter().filter(|moved| moved.as_ref().unwrap().is_some()).count(), 1);
    assert_eq!(store.reputation("main").await.unwrap(), Reputation { accepted: 1, rejected: 0 });
}

pub async fn every_completion_makes_a_reputation_and_deleting_a_ticket_does_not_unmake_it(
    place: &dyn StorePlace,
) {
    let store = place.open().await;
    assert_eq!(store.reputation("main").await.unwrap(), Reputation::default());
    let ticket = running(&*store).await;
    let revised = store.move_ticket(&ticket, reject()).await.unwrap().unwrap();
    let other = store.move_ticket(&revised, take("other")).await.unwrap().unwrap();
    store.move_ticket(&other, accept()).await.unwrap().unwrap();
    assert!(store.delete_ticket(ticket.id).await.unwrap());
    assert!(!store.delete_ticket(ticket.id).await.unwrap());
    let again = place.open().await;
    assert_eq!(again.reputation("main").await.unwrap(), Reputation { accepted: 0, rejected: 1 });
    assert_eq!(again.reputation("other").await.unwrap(), Reputation { accepted: 1, rejected: 0 });
}

pub async fn no_number_is_given_twice(place: &dyn StorePlace) {
    let store = place.open().await;
    let first = store.create_ticket(new("a")).await.unwrap();
    store.delete_ticket(first.id).await.unwrap();
    let second = place.open().await.create_ticket(new("b")).await.unwrap();
    assert!(second.id > first.id);
}
