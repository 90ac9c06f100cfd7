//! Rules that people gave for a session (R11.7). They end with the program that heard the answer, however it ends.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pintle_agent::{ApprovalRule, Claim, StoreError};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::approval::Json;
use crate::clock::{from_sql, now_ms, to_sql};
use crate::error::{Fault, failed};
use crate::store::SqliteStore;

/// A program that runs sessions. Other programs see from a lock whether it still does.
pub struct Program {
    id: String,
    _lock: Claim,
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

const COLUMNS: &str = "n, session_id, rule, workspace, given_by, given_at, program";

/// The session that people talk to, above this one.
const ROOT: &str = "(WITH RECURSIVE above (id, parent) AS (
         SELECT id, parent FROM sessions WHERE id = ?1
         UNION
         SELECT sessions.id, sessions.parent FROM sessions JOIN above ON sessions.id = above.parent
     )
     SELECT id FROM above WHERE parent IS NULL)";

impl SqliteStore {
    /// Names this program, so that rules can depend on its life.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the lock next to the database cannot be made.
    pub fn program(&self) -> Result<Program, StoreError> {
        let id = Uuid::now_v7().to_string();
        let taken = || failed("naming the program", "its new lock is held by another".to_owned());
        let lock = self.try_claim(&id)?.ok_or_else(taken)?;
        Ok(Program { id, _lock: lock })
    }

    /// Keeps a rule for a session, as long as the program lives. The same rule twice is one.
    pub async fn add_rule(
        &self,
        program: &Program,
        session_id: &str,
        rule: &ApprovalRule,
        workspace: &str,
        by: &str,
    ) -> Result<(), StoreError> {
        let (program, session_id) = (program.id.clone(), session_id.to_owned());
        let (rule, workspace, by) = (rule.clone(), workspace.to_owned(), by.to_owned());
        self.worker()
            .write("keeping a rule", move |conn| {
                let rule = serde_json::to_string(&rule)
                    .map_err(|error| Fault::Refused(format!("it is not JSON: {error}")))?;
                conn.prepare_cached(&format!(
                    "INSERT OR IGNORE INTO session_rules
                         (session_id, program, rule, workspace, given_by, given_at)
                     VALUES ({ROOT}, ?2, ?3, ?4, ?5, ?6)"
                ))?
                .execute(params![
                    session_id,
                    program,
                    rule,
                    workspace,
                    by,
                    to_sql(now_ms())
                ])?;
                Ok(())
            })
            .await
    }

    /// The rules that stand in this session of this program.
    pub async fn rules_in(
        &self,
        program: &Program,
        session_id: &str,
    ) -> Result<Vec<SessionRule>, StoreError> {
        let (program, session_id) = (program.id.clone(), session_id.to_owned());
        self.worker()
            .read("reading the rules of a session", move |conn| {
                let mut statement = conn.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM session_rules WHERE session_id = {ROOT} AND program = ?2 ORDER BY n"
                ))?;
                let rules = statement.query_map(params![session_id, program], rule_from)?;
                Ok(rules.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// The rules of every program that still runs, oldest first. Those of the others are forgotten.
    pub async fn session_rules(&self) -> Result<Vec<SessionRule>, StoreError> {
        let all = |conn: &Connection| -> Result<Vec<(SessionRule, String)>, Fault> {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM session_rules ORDER BY n"))?;
            let rules = statement.query_map([], |row| Ok((rule_from(row)?, row.get(6)?)))?;
            Ok(rules.collect::<Result<_, _>>()?)
        };
        let mut rules = self.worker().read("listing the rules of sessions", all).await?;
        let programs: BTreeSet<String> = rules.iter().map(|(_, program)| program.clone()).collect();
        for program in programs {
            // Only the program itself holds a lock of that name: a lock that is free means that it ended.
            if self.try_claim(&program)?.is_some() {
                rules.retain(|(_, of)| *of != program);
                let _ = std::fs::remove_file(self.lock_of(&program));
                self.worker()
                    .write("forgetting the rules of a program", move |conn| {
                        conn.execute("DELETE FROM session_rules WHERE program = ?1", [program])?;
                        Ok(())
                    })
                    .await?;
            }
        }
        Ok(rules.into_iter().map(|(rule, _)| rule).collect())
    }

    /// Takes a rule back: the next call that fits it is asked about. `false` when it is gone already.
    pub async fn revoke_rule(&self, number: i64) -> Result<bool, StoreError> {
        self.worker()
            .write("revoking a rule", move |conn| {
                Ok(conn.execute("DELETE FROM session_rules WHERE n = ?1", [number])? > 0)
            })
            .await
    }
}

fn rule_from(row: &Row<'_>) -> rusqlite::Result<SessionRule> {
    Ok(SessionRule {
        number: row.get(0)?,
        session_id: row.get(1)?,
        rule: row.get::<_, Json<ApprovalRule>>(2)?.0,
        workspace: PathBuf::from(row.get::<_, String>(3)?),
        by: row.get(4)?,
        since: from_sql(row.get(5)?),
    })
}
