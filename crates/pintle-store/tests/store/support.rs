//! What most tests need.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_agent::{ApprovalRule, Message, NewMessage, NewSession, Session, Store};
use pintle_policy::Zone;
use pintle_store::{Answer, Approval, Decision, NewApproval, OPERATOR, Origin, Scope, SqliteStore};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

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

pub(crate) fn said(text: &str) -> NewMessage {
    NewMessage { run_id: "run".to_owned(), message: Message::User { text: text.to_owned() } }
}

pub(crate) async fn texts(store: &SqliteStore, id: &str) -> Vec<String> {
    let history = store.history(id).await.unwrap();
    history
        .into_iter()
        .map(|stored| match stored.message {
            Message::User { text } | Message::Assistant { text, .. } => text,
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

pub(crate) const HOUR: u64 = 3_600_000;

pub(crate) fn question(session: &Session) -> NewApproval {
    NewApproval {
        session_id: session.id.clone(),
        run_id: "run".to_owned(),
        tool_call_id: "call".to_owned(),
        tool: "terminal".to_owned(),
        args: json!({"command": "rm -r build", "cwd": "/srv"}),
        reason: "zone build asks".to_owned(),
        approvers: vec![OPERATOR.to_owned()],
        requested_by: "telegram:7".to_owned(),
        expires_at: now() + HOUR,
        origin: Some(origin()),
        rule: Some(rule()),
    }
}

pub(crate) fn rule() -> ApprovalRule {
    ApprovalRule { tool: "terminal".into(), allow: Some("rm *".into()), zone: Zone::Build }
}

pub(crate) fn origin() -> Origin {
    Origin {
        profile: Some("/home/ann/profile".into()),
        workspace: "/home/ann/project".into(),
        model: "offline".into(),
        personality: "guide".into(),
        platform: "cli".into(),
        level: "standard".into(),
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
