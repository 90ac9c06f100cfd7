//! R11.7: rules of a session end with its program.

use pintle_agent::{NewSession, Store};
use pintle_store::{Program, SqliteStore};

use crate::support::{Place, key, rule, session};

const FOLDER: &str = "/home/ann/project";

async fn allowed(store: &SqliteStore, program: &Program, session: &str) -> bool {
    !store.rules_in(program, session).await.unwrap().is_empty()
}

#[tokio::test]
async fn a_rule_stands_in_its_session_and_the_sub_agents_of_it() {
    let place = Place::new();
    let store = place.open().await;
    let (mine, other) =
        (store.create(key("a")).await.unwrap(), store.create(key("b")).await.unwrap());
    let below = NewSession { parent: Some(mine.id.clone()), ..key("sub") };
    let child = store.create(below).await.unwrap();
    let program = store.program().unwrap();
    assert!(!allowed(&store, &program, &mine.id).await);
    // A person is asked by a sub-agent, and thinks of the conversation they are in.
    store.add_rule(&program, &child.id, &rule(), FOLDER, "ann").await.unwrap();
    store.add_rule(&program, &mine.id, &rule(), FOLDER, "ann").await.unwrap();
    assert!(allowed(&store, &program, &child.id).await);
    assert!(!allowed(&store, &program, &other.id).await);
    let rules = store.rules_in(&program, &mine.id).await.unwrap();
    let [kept] = rules.as_slice() else { panic!("the same rule twice is one: {rules:?}") };
    assert_eq!((kept.rule.clone(), kept.by.as_str(), &kept.session_id), (rule(), "ann", &mine.id));
    assert_eq!(kept.workspace.to_str(), Some(FOLDER));

    let another = store.program().unwrap();
    assert!(!allowed(&store, &another, &mine.id).await, "each program has its own");
    assert!(store.revoke_rule(kept.number).await.unwrap());
    assert!(!allowed(&store, &program, &mine.id).await);
    assert!(!store.revoke_rule(kept.number).await.unwrap());
}

#[tokio::test]
async fn the_rules_of_a_program_that_is_gone_are_not_listed() {
    let place = Place::new();
    let (store, elsewhere) = (place.open().await, place.open().await);
    let session = session(&store).await;
    let (ends, goes_on) = (store.program().unwrap(), store.program().unwrap());
    for program in [&ends, &goes_on] {
        store.add_rule(program, &session.id, &rule(), FOLDER, "ann").await.unwrap();
    }
    assert_eq!(elsewhere.session_rules().await.unwrap().len(), 2);
    let locks = || std::fs::read_dir(place.folder.path().join("locks")).unwrap().count();
    let before = locks();
    drop(ends);
    let left = elsewhere.session_rules().await.unwrap();
    assert_eq!(left, store.rules_in(&goes_on, &session.id).await.unwrap());
    assert_eq!((left.len(), locks()), (1, before - 1));
}
