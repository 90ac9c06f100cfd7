//! What most tests need.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_agent::Message;
use pintle_agent::store::{
    Answer, Approval, Claim, Claims, Decision, Intent, NewApproval, NewMessage, NewSession,
    OPERATOR, Scope, Session, Sessions,
};
use pintle_store::SqliteStore;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.folder.path().join("pintle.db")
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.db()).await.unwrap()
    }

    /// A second, plain connection: another program that looks at or locks the file.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.db()).unwrap()
    }
}

pub(crate) fn key(key: &str) -> NewSession {
    NewSession { key: key.to_owned(), platform: "cli".to_owned(), ..Default::default() }
}

pub(crate) async fn session(store: &SqliteStore) -> Session {
    store.open(key("cli:default")).await.unwrap()
}

/// A claim on the session that most tests talk in.
pub(crate) async fn claimed(store: &SqliteStore) -> Claim {
    store.claim(&session(store).await).await.unwrap()
}

pub(crate) fn said(text: &str) -> NewMessage {
    NewMessage { run_id: "run".to_owned(), message: Message::user(text.to_owned()) }
}

pub(crate) async fn texts(store: &SqliteStore, id: &str) -> Vec<String> {
    let history = store.history(id).await.unwrap();
    history
        .into_iter()
        .map(|stored| match stored.message {
            Message::User { text, .. } | Message::Assistant { text, .. } => text,
            Message::ToolResults { .. } => panic!("no tool results here"),
        })
        .collect()
}

pub(crate) fn integrity(db: &Path) -> String {
    let conn = Connection::open(db).unwrap();
    conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

pub(crate) fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

const HOUR: u64 = 3_600_000;

pub(crate) fn question() -> NewApproval {
    NewApproval {
        run_id: "run".to_owned(),
        tool_call_id: "call".to_owned(),
        tool: "terminal".to_owned(),
        args: json!({"command": "rm -r build", "cwd": "/srv"}),
        reason: "zone build asks".to_owned(),
        approvers: vec![OPERATOR.to_owned()],
        requested_by: "telegram:7".to_owned(),
        expires_at: now() + HOUR,
        origin: None,
        rule: None,
    }
}

pub(crate) fn yes(approval: &Approval) -> Answer {
    Answer {
        id: approval.id.clone(),
        args_hash: approval.args_hash.clone(),
        by: OPERATOR.to_owned(),
        decision: Decision::Approve(Scope::Once),
        reason: None,
    }
}

/// The intent of the call that this approval is about.
pub(crate) fn intent(approval: &Approval) -> Intent {
    Intent {
        id: Uuid::now_v7().to_string(),
        run_id: approval.run_id.clone(),
        tool_call_id: approval.tool_call_id.clone(),
        tool: approval.tool.clone(),
        args_hash: approval.args_hash.clone(),
        approval_id: Some(approval.id.clone()),
    }
}
