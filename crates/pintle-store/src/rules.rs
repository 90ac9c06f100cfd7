//! Rules that people approved for a session (R11.7). They end when the program that received the answer ends.

use std::path::PathBuf;

use futures_util::future::FutureExt;
use pintle_agent::ApprovalRule;
use pintle_agent::store::{Program, Rules, SessionRule, Stored};
use rusqlite::{Row, params};

use crate::approval::Json;
use crate::clock::{from_sql, now_ms, to_sql};
use crate::process_lock::is_held;
use crate::store::SqliteStore;

const COLUMNS: &str = "n, session_id, rule, workspace, given_by, given_at";

/// The topmost session above this one, which people talk to.
const ROOT: &str = "(WITH RECURSIVE above (id, parent) AS (
         SELECT id, parent FROM sessions WHERE id = ?1
         UNION
         SELECT sessions.id, sessions.parent FROM sessions JOIN above ON sessions.id = above.parent
     )
     SELECT id FROM above WHERE parent IS NULL)";

impl Rules for SqliteStore {
    fn program(&self) -> Stored<'_, Program> {
        let program = self.process_lock().map(|lock| Program::new(lock.name().to_owned(), lock));
        std::future::ready(program).boxed()
    }

    fn add_rule(
        &self,
        program: &Program,
        session_id: &str,
        rule: &ApprovalRule,
        workspace: &str,
        by: &str,
    ) -> Stored<'_, ()> {
        let (program, session_id) = (program.id().to_owned(), session_id.to_owned());
        let (rule, workspace, by) = (rule.clone(), workspace.to_owned(), by.to_owned());
        let keep = self.worker().write("keeping a rule", move |conn| {
            conn.prepare_cached(&format!(
                "INSERT OR IGNORE INTO session_rules (session_id, program, rule, workspace, given_by, given_at)
                 VALUES ({ROOT}, ?2, ?3, ?4, ?5, ?6)"
            ))?
            .execute(params![session_id, program, Json(rule), workspace, by, to_sql(now_ms())])?;
            Ok(())
        });
        keep.boxed()
    }

    fn rules_in(&self, program: &Program, session_id: &str) -> Stored<'_, Vec<SessionRule>> {
        let (program, session_id) = (program.id().to_owned(), session_id.to_owned());
        let read = self.worker().read("reading the rules of a session", move |conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM session_rules WHERE session_id = {ROOT} AND program = ?2 ORDER BY n"
            ))?;
            let rules = statement.query_map(params![session_id, program], rule_from)?;
            Ok(rules.collect::<Result<_, _>>()?)
        });
        read.boxed()
    }

    fn session_rules(&self) -> Stored<'_, Vec<SessionRule>> {
        let locks = self.locks();
        let list = self.worker().write("listing the rules of sessions", move |conn| {
            let mut statement =
                conn.prepare_cached("SELECT DISTINCT program FROM session_rules")?;
            let programs: Vec<String> =
                statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            // Only the program itself holds the lock of its name, so a free lock means that the program has ended.
            for ended in programs.iter().filter(|program| !is_held(&locks.join(program))) {
                conn.execute("DELETE FROM session_rules WHERE program = ?1", [ended])?;
            }
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM session_rules ORDER BY n"))?;
            Ok(statement.query_map([], rule_from)?.collect::<Result<_, _>>()?)
        });
        list.boxed()
    }

    fn revoke_rule(&self, number: i64) -> Stored<'_, bool> {
        let revoke = self.worker().write("revoking a rule", move |conn| {
            Ok(conn.execute("DELETE FROM session_rules WHERE n = ?1", [number])? > 0)
        });
        revoke.boxed()
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
