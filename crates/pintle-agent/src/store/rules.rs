//! Rules that people gave for a session (R11.7).

use std::{any::Any, path::PathBuf};

use super::Stored;
use crate::rule::ApprovalRule;

/// Where the approval rules of sessions are kept. They end with the program that heard the answer, however it ends.
pub trait Rules: Send + Sync + 'static {
    /// Names this program, so that rules can depend on its life.
    fn program(&self) -> Stored<'_, Program>;
    /// Keeps a rule for a session and its sub-agents, as long as the program lives. The same rule twice is one.
    fn add_rule(
        &self,
        program: &Program,
        session_id: &str,
        rule: &ApprovalRule,
        workspace: &str,
        by: &str,
    ) -> Stored<'_, ()>;
    /// The rules that stand in this session of this program, oldest first.
    fn rules_in(&self, program: &Program, session_id: &str) -> Stored<'_, Vec<SessionRule>>;
    /// The rules of every program that still runs, oldest first. Those of the others are forgotten.
    fn session_rules(&self) -> Stored<'_, Vec<SessionRule>>;
    /// Takes a rule back: the next call that fits it is asked about. `false` when it is gone already.
    fn revoke_rule(&self, number: i64) -> Stored<'_, bool>;
}

/// A program that runs sessions. The store can see whether it still does.
pub struct Program {
    id: String,
    _guard: Box<dyn Any + Send + Sync>,
}

impl Program {
    /// A program under this id, for stores to hand out. It lives as long as the guard does.
    pub fn new(id: impl Into<String>, guard: impl Send + Sync + 'static) -> Self {
        Self { id: id.into(), _guard: Box::new(guard) }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// A rule that stands in a session and its sub-agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRule {
    /// The number by which it is revoked.
    pub number: i64,
    /// The session; of a sub-agent, the one that people talk to.
    pub session_id: String,
    /// What it covers.
    pub rule: ApprovalRule,
    /// The folder in which it holds.
    pub workspace: PathBuf,
    /// Who gave it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub since: u64,
}
