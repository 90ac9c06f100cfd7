//! What most tests need.

use std::sync::Arc;

use serde_json::json;

use super::StorePlace;
use crate::{
    Message, now_ms,
    rule::ApprovalRule,
    run::new_id,
    store::{
        Answer, Approval, Claim, Decision, Intent, NewApproval, NewMessage, NewOutgoing,
        NewSession, OPERATOR, Origin, OutgoingKind, Scope, Session, Store,
    },
};

pub(super) const HOUR: u64 = 3_600_000;

pub(super) fn now() -> u64 {
    now_ms()
}

pub(super) fn key(key: &str) -> NewSession {
    NewSession { key: key.to_owned(), platform: "cli".to_owned(), ..Default::default() }
}

/// A store with a session, and a claim on it.
pub(super) async fn claimed(place: &dyn StorePlace) -> (Arc<dyn Store>, Session, Claim) {
    let store = place.open().await;
    let session = store.open(key("cli:default")).await.unwrap();
    let claim = store.claim(&session).await.unwrap();
    (store, session, claim)
}

/// A new session under this key, and a claim on it.
pub(super) async fn another(store: &dyn Store, new: NewSession) -> (Session, Claim) {
    let session = store.create(new).await.unwrap();
    let claim = store.claim(&session).await.unwrap();
    (session, claim)
}

pub(super) fn said(text: &str) -> NewMessage {
    NewMessage { run_id: "run".to_owned(), message: Message::user(text.to_owned()) }
}

pub(super) async fn texts(store: &dyn Store, id: &str) -> Vec<String> {
    let history = store.history(id).await.unwrap();
    let text = |message| match message {
        Message::User { text, .. } | Message::Assistant { text, .. } => text,
        Message::ToolResults { .. } => panic!("there are no tool results here"),
    };
    history.into_iter().map(|stored| text(stored.message)).collect()
}

pub(super) fn question() -> NewApproval {
    NewApproval {
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

pub(super) fn rule() -> ApprovalRule {
    let zone = pintle_policy::Zone::Build;
    let (tool, allow) = ("terminal".into(), Some("rm *".into()));
    ApprovalRule { tool, allow, kind: None, zone }
}

fn origin() -> Origin {
    Origin {
        profile: Some("/home/ann/profile".into()),
        workspace: "/home/ann/project".into(),
        model: "offline".into(),
        personality: "guide".into(),
        platform: "cli".into(),
        level: "standard".into(),
    }
}

pub(super) fn yes(approval: &Approval) -> Answer {
    Answer {
        id: approval.id.clone(),
        args_hash: approval.args_hash.clone(),
        by: OPERATOR.to_owned(),
        decision: Decision::Approve(Scope::Once),
        reason: None,
    }
}

pub(super) fn no(approval: &Approval) -> Answer {
    Answer { decision: Decision::Deny, ..yes(approval) }
}

/// The intent of the call that this approval is about.
pub(super) fn intent(approval: &Approval) -> Intent {
    Intent {
        id: new_id(),
        run_id: approval.run_id.clone(),
        tool_call_id: approval.tool_call_id.clone(),
        tool: approval.tool.clone(),
        args_hash: approval.args_hash.clone(),
        approval_id: Some(approval.id.clone()),
    }
}

/// A message to be sent.
pub(super) fn row(lane: &str, text: &str, kind: OutgoingKind) -> NewOutgoing {
    NewOutgoing {
        lane: lane.into(),
        run_id: format!("run {text}"),
        session_id: None,
        platform: "test".into(),
        chat_id: lane.into(),
        thread_id: None,
        reply_to: None,
        text: text.into(),
        kind,
    }
}
