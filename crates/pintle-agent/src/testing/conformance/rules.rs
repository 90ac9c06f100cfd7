//! R11.7: rules of a session end with its program.

use super::{
    StorePlace,
    support::{claimed, key, rule},
};
use crate::store::{NewSession, Program, Store};

const FOLDER: &str = "/home/ann/project";

async fn is_allowed(store: &dyn Store, program: &Program, session: &str) -> bool {
    !store.rules_in(program, session).await.unwrap().is_empty()
}

pub async fn a_rule_stands_in_its_session_and_the_sub_agents_of_it(place: &dyn StorePlace) {
    let (store, mine, _claim) = claimed(place).await;
    let other = store.create(key("b")).await.unwrap();
    let below = NewSession { parent: Some(mine.id.clone()), ..key("sub") };
    let child = store.create(below).await.unwrap();
    let program = store.program().await.unwrap();
    assert!(!is_allowed(&*store, &program, &mine.id).await);
    // A person is asked by a sub-agent, and thinks of the conversation they are in.
    store.add_rule(&program, &child.id, &rule(), FOLDER, "ann").await.unwrap();
    store.add_rule(&program, &mine.id, &rule(), FOLDER, "ann").await.unwrap();
    assert!(is_allowed(&*store, &program, &child.id).await);
    assert!(!is_allowed(&*store, &program, &other.id).await);
    let rules = store.rules_in(&program, &mine.id).await.unwrap();
    let [kept] = rules.as_slice() else { panic!("the same rule twice is one: {rules:?}") };
    assert_eq!((kept.rule.clone(), kept.by.as_str(), &kept.session_id), (rule(), "ann", &mine.id));
    assert_eq!(kept.workspace.to_str(), Some(FOLDER));

    let elsewhere = place.open().await;
    let another = elsewhere.program().await.unwrap();
    assert!(!is_allowed(&*store, &another, &mine.id).await, "each program has its own");
    assert!(elsewhere.revoke_rule(kept.number).await.unwrap());
    assert!(!is_allowed(&*store, &program, &mine.id).await);
    assert!(!store.revoke_rule(kept.number).await.unwrap());
}

pub async fn the_rules_of_a_program_that_has_ended_are_not_listed(place: &dyn StorePlace) {
    let (store, session, _claim) = claimed(place).await;
    let ending = place.open().await;
    let (ends, goes_on) = (ending.program().await.unwrap(), store.program().await.unwrap());
    for program in [&ends, &goes_on] {
        store.add_rule(program, &session.id, &rule(), FOLDER, "ann").await.unwrap();
    }
    assert_eq!(store.session_rules().await.unwrap().len(), 2);
    drop((ends, ending));
    let left = store.session_rules().await.unwrap();
    assert_eq!(left, store.rules_in(&goes_on, &session.id).await.unwrap());
    assert_eq!(left.len(), 1);
}
