//! Tickets in memory.

use super::{MemoryStore, now};
use crate::store::{NewTicket, Reputation, Stored, Ticket, TicketMove, TicketState, Tickets};

impl Tickets for MemoryStore {
    fn create_ticket(&self, new: NewTicket) -> Stored<'_, Ticket> {
        self.write(|tables| {
            tables.last_ticket += 1;
            let ticket = Ticket {
                id: tables.last_ticket,
                title: new.title,
                acceptance_criteria: new.acceptance_criteria,
                check: new.check,
                state: TicketState::Todo,
                assignee: None,
                summary: None,
                reason: None,
                created_by: new.created_by,
                created_at: now(),
                updated_at: now(),
                version: 0,
            };
            tables.tickets.push(ticket.clone());
            Ok(ticket)
        })
    }

    fn ticket(&self, id: u64) -> Stored<'_, Option<Ticket>> {
        self.read(|tables| tables.tickets.iter().find(|ticket| ticket.id == id).cloned())
    }

    fn tickets(&self, state: Option<TicketState>) -> Stored<'_, Vec<Ticket>> {
        let fits = |ticket: &&Ticket| state.is_none_or(|state| ticket.state == state);
        self.read(|tables| tables.tickets.iter().rev().filter(fits).cloned().collect())
    }

    fn move_ticket(&self, seen: &Ticket, to: TicketMove) -> Stored<'_, Option<Ticket>> {
        self.write(|tables| {
            let same = |it: &&mut Ticket| it.id == seen.id && it.version == seen.version;
            let Some(ticket) = tables.tickets.iter_mut().find(same) else { return Ok(None) };
            let verdict = to.verdict();
            let Some(moved) = to.apply(ticket, now()) else { return Ok(None) };
            ticket.clone_from(&moved);
            if let (Some(accepted), Some(assignee)) = (verdict, &moved.assignee) {
                let reputation = tables.reputations.entry(assignee.clone()).or_default();
                match accepted {
                    true => reputation.accepted += 1,
                    false => reputation.rejected += 1,
                }
            }
            Ok(Some(moved))
        })
    }

    fn delete_ticket(&self, id: u64) -> Stored<'_, bool> {
        self.write(|tables| {
            let before = tables.tickets.len();
            tables.tickets.retain(|ticket| ticket.id != id);
            Ok(tables.tickets.len() < before)
        })
    }

    fn reputation(&self, assignee: &str) -> Stored<'_, Reputation> {
        self.read(|tables| tables.reputations.get(assignee).copied().unwrap_or_default())
    }
}
