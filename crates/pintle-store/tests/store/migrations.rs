use std::fs;

use pintle_agent::store::{Approvals, Claims, Ledger, Sessions, StoredCall};
use pintle_store::SqliteStore;
use rusqlite::Connection;

use crate::support::{Place, question, said, session, texts};

const FIRST_STEP: &str = include_str!("../../src/migrations/0001_sessions.sql");
const SECOND_STEP: &str = include_str!("../../src/migrations/0002_runs.sql");
const THIRD_STEP: &str = include_str!("../../src/migrations/0003_approvals.sql");
const OURS: &str = "PRAGMA application_id = 1349416044";

/// A database as the first version wrote it, with one conversation.
fn first_version(place: &Place) -> Connection {
    let raw = place.raw();
    raw.execute_batch(&format!("{FIRST_STEP}; {OURS}; PRAGMA user_version = 1")).unwrap();
    raw.execute_batch(
        r#"INSERT INTO sessions (id, key, platform, created_at, updated_at, message_count)
               VALUES ('old', 'cli:default', 'cli', 1, 2, 1);
           INSERT INTO messages VALUES ('old', 0, 'run', 2, '{"role":"user","text":"from the past"}')"#,
    )
    .unwrap();
    raw
}

fn version(place: &Place) -> i64 {
    place.raw().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_older_database_is_brought_up_to_date_and_keeps_its_conversations() {
    let place = Place::new();
    drop(first_version(&place));
    let store = place.open().await;
    let session = session(&store).await;
    assert_eq!(session.id, "old");
    assert_eq!(texts(&store, "old").await, ["from the past"]);
    let claim = store.claim(&session).await.unwrap();
    store.append(&claim, vec![said("and now")]).await.unwrap();
    store.request_approval(&claim, question()).await.unwrap();
    assert_eq!(texts(&store, "old").await, ["from the past", "and now"]);
    assert_eq!(version(&place), 13);
}

// R11.6: a question from before runs knew what they were made of is still there, and says that it does not know.
#[tokio::test]
async fn a_question_of_an_older_version_is_kept_without_an_origin() {
    let place = Place::new();
    let raw = first_version(&place);
    raw.execute_batch(&format!("{SECOND_STEP}; {THIRD_STEP}; PRAGMA user_version = 3")).unwrap();
    raw.execute_batch(
        "INSERT INTO approvals (id, session_id, run_id, tool_call_id, tool, args, args_hash, reason, approvers,
                                requested_by, created_at, expires_at)
             VALUES ('q', 'old', 'run', 't1', 'terminal', '{}', 'hash', 'why', '[]', 'cli', 1, 9000000000000)",
    )
    .unwrap();
    drop(raw);
    let approval = place.open().await.approval("q").await.unwrap().unwrap();
    assert_eq!((approval.tool.as_str(), approval.origin), ("terminal", None));
    // No name stood for whoever runs the program; now that is said.
    assert_eq!(approval.approvers, ["operator"]);
}

// R11.6: a call that an older version has left without a result may have run.
#[tokio::test]
async fn a_call_that_an_older_version_left_without_a_result_is_taken_for_begun() {
    let place = Place::new();
    let raw = first_version(&place);
    let body =
        r#"{"role":"assistant","text":"","toolCalls":[{"id":"t1","name":"terminal","input":{}}]}"#;
    raw.execute("INSERT INTO messages VALUES ('old', 1, 'dead', 3, ?1)", [body]).unwrap();
    drop(raw);
    let open = place.open().await.open_calls("old").await.unwrap();
    let [call] = open.as_slice() else { panic!("{open:?}") };
    let StoredCall { tool_call_id, tool, run_id, end, .. } = call;
    assert_eq!((tool_call_id.as_str(), tool.as_str(), run_id.as_str()), ("t1", "terminal", "dead"));
    assert_eq!(*end, None);
}

#[tokio::test]
async fn a_step_that_fails_leaves_a_whole_version_behind() {
    let place = Place::new();
    let raw = first_version(&place);
    // The third step wants to make this table itself.
    raw.execute_batch("CREATE TABLE approvals_by_call (x)").unwrap();
    drop(raw);
    let error = SqliteStore::open(place.db()).await.unwrap_err();
    assert!(error.to_string().contains("approvals_by_call"), "{error}");
    assert_eq!(version(&place), 2);
    let half: i64 = place
        .raw()
        .query_row("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'approvals'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(half, 0);

    place.raw().execute_batch("DROP TABLE approvals_by_call").unwrap();
    assert_eq!(texts(&place.open().await, "old").await, ["from the past"]);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_kept() {
    let place = Place::new();
    drop(place.open().await);
    place.raw().execute_batch("PRAGMA user_version = 99").unwrap();
    let before = fs::read(place.db()).unwrap();
    let error = SqliteStore::open(place.db()).await.unwrap_err();
    let words = error.to_string();
    assert!(words.contains("version 99") && words.contains("Update Pintle"), "{words}");
    assert_eq!(fs::read(place.db()).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_kept() {
    let place = Place::new();
    place.raw().execute_batch("CREATE TABLE recipes (name)").unwrap();
    let before = fs::read(place.db()).unwrap();
    let error = SqliteStore::open(place.db()).await.unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(fs::read(place.db()).unwrap(), before);
}
