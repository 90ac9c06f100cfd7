//! The ticket board.

use pintle_agent::store::{Ticket, TicketState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Api, ApiError,
    routes::{Call, Reply},
};

/// Which tickets to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only those in this state.
    state: Option<State>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Todo,
    Running,
    NeedsRevision,
    Done,
}

impl From<State> for TicketState {
    fn from(state: State) -> Self {
        match state {
            State::Todo => Self::Todo,
            State::Running => Self::Running,
            State::NeedsRevision => Self::NeedsRevision,
            State::Done => Self::Done,
        }
    }
}

/// A ticket.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TicketView {
    id: u64,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance_criteria: Option<String>,
    /// A command that exits with 0 when it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    /// `todo`, `running`, `needs_revision` or `done`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Why the newest completion was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    created_by: String,
    created_at: u64,
    updated_at: u64,
}

impl From<Ticket> for TicketView {
    fn from(ticket: Ticket) -> Self {
        Self {
            id: ticket.id,
            title: ticket.title,
            acceptance_criteria: ticket.acceptance_criteria,
            check: ticket.check,
            state: ticket.state.name().into(),
            assignee: ticket.assignee,
            summary: ticket.summary,
            reason: ticket.reason,
            created_by: ticket.created_by,
            created_at: ticket.created_at,
            updated_at: ticket.updated_at,
        }
    }
}

pub(super) async fn list(api: Api, call: Call<Which>) -> Result<Reply<Vec<TicketView>>, ApiError> {
    let tickets = api.gateway.store().tickets(call.query.state.map(Into::into)).await?;
    Ok(tickets.into_iter().map(TicketView::from).collect::<Vec<_>>().into())
}
