//! The ticket board: work that agents hand to each other, and the points of a completion.

mod verifier;

use std::sync::Arc;

use pintle::{
    Cx, FireError, Hooks,
    points::{AfterTicketRevision, BeforeTicketComplete},
};

pub use verifier::{CheckCommand, TICKET_VERIFIER, TicketVerifier};

use crate::store::{NewTicket, Store, StoreError, Ticket, TicketMove, TicketState};

/// The board as one agent, or a person, uses it.
#[derive(Clone)]
pub struct TicketBoard {
    store: Arc<dyn Store>,
    hooks: Hooks,
    cx: Cx,
    who: Who,
}

#[derive(Clone)]
enum Who {
    Agent(String),
    Person(String),
}

/// What became of a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// It was accepted.
    Done(Ticket),
    /// It was rejected; the ticket says why.
    NeedsRevision(Ticket),
}

/// Why a ticket was not moved.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// There is no such ticket.
    #[error("there is no ticket {0}")]
    Unknown(u64),
    /// Its state does not allow it.
    #[error("ticket {id} is {}, so it cannot be {wanted}{hint}", .state.name())]
    WrongState {
        /// The ticket.
        id: u64,
        /// Where it is.
        state: TicketState,
        /// What was to be done with it, as `completed`.
        wanted: &'static str,
        /// How to go on; may be empty.
        hint: &'static str,
    },
    /// Another agent works on it.
    #[error(
        "ticket {id} belongs to `{assignee}`, who works on it; only they complete or release it"
    )]
    NotYours {
        /// The ticket.
        id: u64,
        /// Who works on it.
        assignee: String,
    },
    /// Somebody else moved it meanwhile.
    #[error("ticket {0} was moved by somebody else meanwhile; look at it again")]
    Moved(u64),
    /// A handler registered fail-closed failed after the ticket was moved.
    #[error(transparent)]
    Hook(#[from] FireError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TicketBoard {
    /// The board for the agent of this context: it works under the personality's name, and completions fire in the context.
    pub fn for_agent(store: Arc<dyn Store>, hooks: Hooks, cx: Cx) -> Self {
        let name = cx.envelope().personality_id.clone().unwrap_or_else(|| "agent".into());
        Self { store, hooks, cx, who: Who::Agent(name) }
    }

    /// The board for a person, who may also move the tickets of agents.
    pub fn for_person(store: Arc<dyn Store>, hooks: Hooks, cx: Cx, name: &str) -> Self {
        Self { store, hooks, cx, who: Who::Person(name.to_string()) }
    }

    fn name(&self) -> &str {
        let (Who::Agent(name) | Who::Person(name)) = &self.who;
        name
    }

    /// Puts a ticket on the board. An agent writes no check: it would run without a question.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn create(
        &self,
        title: &str,
        acceptance_criteria: Option<&str>,
        check: Option<&str>,
    ) -> Result<Ticket, TicketError> {
        let check = check.filter(|_| matches!(self.who, Who::Person(_)));
        let new = NewTicket {
            title: title.to_string(),
            acceptance_criteria: acceptance_criteria.map(str::to_string),
            check: check.map(str::to_string),
            created_by: self.name().to_string(),
        };
        Ok(self.store.create_ticket(new).await?)
    }

    /// The tickets in this state, or all of them, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, state: Option<TicketState>) -> Result<Vec<Ticket>, TicketError> {
        Ok(self.store.tickets(state).await?)
    }

    /// Begins to work on a ticket.
    ///
    /// # Errors
    /// When it is not there, not free, or the store fails.
    pub async fn take(&self, id: u64) -> Result<Ticket, TicketError> {
        let ticket = self.find(id).await?;
        if !matches!(ticket.state, TicketState::Todo | TicketState::NeedsRevision) {
            return Err(wrong_state(&ticket, "taken", ""));
        }
        self.step(&ticket, TicketMove::Take { assignee: self.name().to_string() }).await
    }

    /// Gives a running ticket back to the board.
    ///
    /// # Errors
    /// When it is not there, not running, another agent's, or the store fails.
    pub async fn release(&self, id: u64) -> Result<Ticket, TicketError> {
        let ticket = self.running(id, "released", "").await?;
        self.step(&ticket, TicketMove::Release).await
    }

    /// Says that a ticket is done. `before_ticket_complete` fires, and a claim, or a handler that fails closed, rejects it.
    ///
    /// A ticket that is not running cannot be completed, and then nothing fires. While handlers think, the ticket stays
    /// `running`: a process that dies then leaves it so, and it can be completed again.
    ///
    /// # Errors
    /// When it is not there, not running, another agent's, was moved meanwhile, or the store fails.
    pub async fn complete(&self, id: u64, summary: &str) -> Result<Completion, TicketError> {
        let hint = "; take it first";
        let ticket = self.running(id, "completed", hint).await?;
        let assignee = ticket.assignee.clone().unwrap_or_default();
        let tier = Some(self.store.reputation(&assignee).await?.autonomy_tier());
        let (task_id, summary) = (id.to_string(), summary.to_string());
        let before = || {
            BeforeTicketComplete::default()
                .task_id(task_id.clone())
                .summary(summary.clone())
                .acceptance_criteria(ticket.acceptance_criteria.clone())
                .autonomy_tier(tier)
        };
        let rejected = match self.hooks.fire_claiming(&self.cx, before).await {
            Ok(claimed) => claimed.map(|claimed| match claimed.claim.reason.trim() {
                "" => format!("rejected by {}", claimed.by),
                reason => reason.to_string(),
            }),
            Err(cancelled @ FireError::Cancelled { .. }) => return Err(cancelled.into()),
            Err(failed) => Some(failed.to_string()),
        };
        let Some(reason) = rejected else {
            let done = self.step(&ticket, TicketMove::Accept { summary }).await?;
            return Ok(Completion::Done(done));
        };
        let reject = TicketMove::Reject { summary: summary.clone(), reason: reason.clone() };
        let moved = self.step(&ticket, reject).await?;
        let reputation = self.store.reputation(&assignee).await?;
        let after = || {
            AfterTicketRevision::default()
                .task_id(task_id)
                .summary(summary)
                .acceptance_criteria(ticket.acceptance_criteria.clone())
                .reason(reason)
                .assignee(assignee)
                .autonomy_tier(Some(reputation.autonomy_tier()))
                .success_ratio(reputation.success_ratio())
        };
        self.hooks.fire_void(&self.cx, after).await?;
        Ok(Completion::NeedsRevision(moved))
    }

    async fn find(&self, id: u64) -> Result<Ticket, TicketError> {
        self.store.ticket(id).await?.ok_or(TicketError::Unknown(id))
    }

    /// The ticket, if it is running and the caller may end that.
    async fn running(
        &self,
        id: u64,
        wanted: &'static str,
        hint: &'static str,
    ) -> Result<Ticket, TicketError> {
        let ticket = self.find(id).await?;
        if ticket.state != TicketState::Running {
            let free = matches!(ticket.state, TicketState::Todo | TicketState::NeedsRevision);
            return Err(wrong_state(&ticket, wanted, if free { hint } else { "" }));
        }
        match (&self.who, &ticket.assignee) {
            (Who::Agent(name), Some(assignee)) if name != assignee => {
                Err(TicketError::NotYours { id, assignee: assignee.clone() })
            }
            _ => Ok(ticket),
        }
    }

    async fn step(&self, seen: &Ticket, to: TicketMove) -> Result<Ticket, TicketError> {
        self.store.move_ticket(seen, to).await?.ok_or(TicketError::Moved(seen.id))
    }
}

fn wrong_state(ticket: &Ticket, wanted: &'static str, hint: &'static str) -> TicketError {
    TicketError::WrongState { id: ticket.id, state: ticket.state, wanted, hint }
}
