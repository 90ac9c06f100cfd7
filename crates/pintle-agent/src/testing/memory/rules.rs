//! The approval rules of sessions in memory.

use std::path::PathBuf;

use super::{MemoryStore, now};
use crate::{
    rule::ApprovalRule,
    run::new_id,
    store::{Program, Rules, SessionRule, StoreError, Stored},
};

/// Ends the rules of a program when it is dropped.
struct Ended {
    store: MemoryStore,
    program: String,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.store.tables().rules.retain(|(program, _)| *program != self.program);
    }
}

impl Rules for MemoryStore {
    fn program(&self) -> Stored<'_, Program> {
        let id = new_id();
        let guard = Ended { store: self.clone(), program: id.clone() };
        Box::pin(std::future::ready(Ok(Program::new(id, guard))))
    }

    fn add_rule(
        &self,
        program: &Program,
        session_id: &str,
        rule: &ApprovalRule,
        workspace: &str,
        by: &str,
    ) -> Stored<'_, ()> {
        let (program, rule, by) = (program.id().to_owned(), rule.clone(), by.to_owned());
        let workspace = PathBuf::from(workspace);
        self.write(|tables| {
            let Some(root) = tables.with_parents(session_id).last() else {
                return Err(StoreError::NoSuchSession(session_id.to_owned()));
            };
            let session_id = root.id.clone();
            tables.next_rule += 1;
            let number = tables.next_rule;
            let new = SessionRule { number, session_id, rule, workspace, by, since: now() };
            let same = |(of, old): &(String, SessionRule)| {
                let unnumbered = SessionRule { number, since: new.since, ..old.clone() };
                *of == program && unnumbered == new
            };
            if !tables.rules.iter().any(same) {
                tables.rules.push((program, new));
            }
            Ok(())
        })
    }

    fn rules_in(&self, program: &Program, session_id: &str) -> Stored<'_, Vec<SessionRule>> {
        self.read(|tables| {
            let root = tables.with_parents(session_id).last().map(|root| &root.id);
            let own = tables
                .rules
                .iter()
                .filter(|(of, rule)| *of == program.id() && Some(&rule.session_id) == root);
            own.map(|(_, rule)| rule.clone()).collect()
        })
    }

    fn session_rules(&self) -> Stored<'_, Vec<SessionRule>> {
        self.read(|tables| tables.rules.iter().map(|(_, rule)| rule.clone()).collect())
    }

    fn revoke_rule(&self, number: i64) -> Stored<'_, bool> {
        self.write(|tables| {
            let before = tables.rules.len();
            tables.rules.retain(|(_, rule)| rule.number != number);
            Ok(tables.rules.len() < before)
        })
    }
}
