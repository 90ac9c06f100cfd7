//! Tickets. A move checks the version in its own transaction.

use futures_util::future::FutureExt;
use pintle_agent::store::{
    NewTicket, Reputation, Stored, Ticket, TicketMove, TicketState, Tickets,
};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};

use crate::clock::{from_sql, now_ms, to_sql};
use crate::store::SqliteStore;

const COLUMNS: &str = "id, title, criteria, check_line, state, assignee, summary, reason, created_by, created_at, \
                       updated_at, version";

impl Tickets for SqliteStore {
    fn create_ticket(&self, new: NewTicket) -> Stored<'_, Ticket> {
        let create = self.worker().write("making a ticket", move |conn| {
            let NewTicket { title, acceptance_criteria, check, created_by } = new;
            let (state, now) = (TicketState::Todo, to_sql(now_ms()));
            let mut insert = conn.prepare_cached(&format!(
                "INSERT INTO tickets (title, criteria, check_line, state, created_by, created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) RETURNING {COLUMNS}"
            ))?;
            let new = params![title, acceptance_criteria, check, state.name(), created_by, now];
            Ok(insert.query_row(new, ticket_from)?)
        });
        create.boxed()
    }

    fn ticket(&self, id: u64) -> Stored<'_, Option<Ticket>> {
        let read = self.worker().read("reading a ticket", move |conn| {
            let mut one =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM tickets WHERE id = ?1"))?;
            Ok(one.query_row([to_sql(id)], ticket_from).optional()?)
        });
        read.boxed()
    }

    fn tickets(&self, state: Option<TicketState>) -> Stored<'_, Vec<Ticket>> {
        let list = self.worker().read("listing the tickets", move |conn| {
            let mut all = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM tickets WHERE ?1 IS NULL OR state = ?1 ORDER BY id DESC"
            ))?;
            let tickets = all.query_map([state.map(TicketState::name)], ticket_from)?;
            Ok(tickets.collect::<Result<_, _>>()?)
        });
        list.boxed()
    }

    fn move_ticket(&self, seen: &Ticket, to: TicketMove) -> Stored<'_, Option<Ticket>> {
        let (id, version) = (to_sql(seen.id), to_sql(seen.version));
        let step = self.worker().write("moving a ticket", move |conn| {
            let mut as_seen = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM tickets WHERE id = ?1 AND version = ?2"
            ))?;
            let ticket = as_seen.query_row([id, version], ticket_from).optional()?;
            let verdict = to.verdict();
            let Some(moved) = ticket.and_then(|ticket| to.apply(&ticket, now_ms())) else {
                return Ok(None);
            };
            conn.prepare_cached(
                "UPDATE tickets SET state = ?2, assignee = ?3, summary = ?4, reason = ?5, updated_at = ?6, version = ?7
                 WHERE id = ?1",
            )?
            .execute(params![
                id,
                moved.state.name(),
                moved.assignee,
                moved.summary,
                moved.reason,
                to_sql(moved.updated_at),
                to_sql(moved.version)
            ])?;
            if let Some(accepted) = verdict {
                conn.prepare_cached(
                    "INSERT INTO reputations (assignee, accepted, rejected) VALUES (?1, ?2, ?3)
                     ON CONFLICT (assignee) DO UPDATE SET accepted = accepted + ?2, rejected = rejected + ?3",
                )?
                .execute(params![moved.assignee, i64::from(accepted), i64::from(!accepted)])?;
            }
            Ok(Some(moved))
        });
        step.boxed()
    }

    fn delete_ticket(&self, id: u64) -> Stored<'_, bool> {
        let delete = self.worker().write("deleting a ticket", move |conn| {
            Ok(conn.execute("DELETE FROM tickets WHERE id = ?1", [to_sql(id)])? > 0)
        });
        delete.boxed()
    }

    fn reputation(&self, assignee: &str) -> Stored<'_, Reputation> {
        let assignee = assignee.to_owned();
        let read = self.worker().read("reading a reputation", move |conn| {
            let mut one = conn
                .prepare_cached("SELECT accepted, rejected FROM reputations WHERE assignee = ?1")?;
            let reputation = one.query_row([assignee], |row| {
                let (accepted, rejected) = (from_sql(row.get(0)?), from_sql(row.get(1)?));
                Ok(Reputation { accepted, rejected })
            });
            Ok(reputation.optional()?.unwrap_or_default())
        });
        read.boxed()
    }
}

fn ticket_from(row: &Row<'_>) -> rusqlite::Result<Ticket> {
    let state: String = row.get(4)?;
    let state = TicketState::named(&state).ok_or_else(|| {
        let unknown = format!("`{state}` is not a state of a ticket");
        rusqlite::Error::FromSqlConversionFailure(4, Type::Text, unknown.into())
    })?;
    Ok(Ticket {
        id: from_sql(row.get(0)?),
        title: row.get(1)?,
        acceptance_criteria: row.get(2)?,
        check: row.get(3)?,
        state,
        assignee: row.get(5)?,
        summary: row.get(6)?,
        reason: row.get(7)?,
        created_by: row.get(8)?,
        created_at: from_sql(row.get(9)?),
        updated_at: from_sql(row.get(10)?),
        version: from_sql(row.get(11)?),
    })
}
