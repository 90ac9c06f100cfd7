//! The page of tickets, with the reputation of each assignee.

use std::collections::BTreeSet;

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use pintle_agent::store::{Reputation, Ticket, TicketState};

use super::{
    Problem, Shell,
    format::{plural, roughly},
    html,
    row::Mark,
};
use crate::{api::Api, clock::now_ms};

/// The states in the order of the page. Those that need attention come first.
const COLUMNS: [(TicketState, &str, Mark); 4] = [
    (TicketState::NeedsRevision, "Needs revision", Mark::Block),
    (TicketState::Running, "Running", Mark::Idle),
    (TicketState::Todo, "To do", Mark::Idle),
    (TicketState::Done, "Done", Mark::Ok),
];

struct Column {
    title: &'static str,
    mark: Mark,
    tickets: Vec<Card>,
}

struct Card {
    ticket: Ticket,
    ago: String,
}

struct Assignee {
    name: String,
    reputation: Reputation,
    /// `75 % accepted`
    share: String,
}

#[derive(Template)]
#[template(path = "tickets.html")]
struct Page {
    shell: Shell,
    title: String,
    columns: Vec<Column>,
    assignees: Vec<Assignee>,
}

pub(super) async fn board(State(api): State<Api>) -> Result<Response, Problem> {
    let shell = Shell::new(&api, "tickets").await?;
    let store = api.gateway.store();
    let tickets = store.tickets(None).await?;
    let names: BTreeSet<String> = tickets.iter().filter_map(|it| it.assignee.clone()).collect();
    let mut assignees = Vec::new();
    for name in names {
        let reputation = store.reputation(&name).await?;
        let share =
            reputation.success_ratio().map(|share| format!("{:.0} % accepted", share * 100.0));
        assignees.push(Assignee { name, reputation, share: share.unwrap_or_else(|| "–".into()) });
    }
    let open = tickets.iter().filter(|it| it.state != TicketState::Done).count();
    let title = match (tickets.len(), open) {
        (0, _) => "No tickets".to_string(),
        (all, 0) => format!("{}, all done", plural(all, "ticket")),
        (all, open) => format!("{}, {open} open", plural(all, "ticket")),
    };
    let column = |(state, title, mark): (TicketState, &'static str, Mark)| {
        let of_state = tickets.iter().filter(|it| it.state == state);
        let card = |ticket: &Ticket| Card {
            ago: roughly(now_ms().saturating_sub(ticket.updated_at)),
            ticket: ticket.clone(),
        };
        Column { title, mark, tickets: of_state.map(card).collect() }
    };
    let columns = COLUMNS.map(column).into_iter().filter(|it| !it.tickets.is_empty()).collect();
    Ok(html(StatusCode::OK, &Page { shell, title, columns, assignees }))
}
