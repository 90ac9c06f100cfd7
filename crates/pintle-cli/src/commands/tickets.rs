//! `pintle tickets`: the board of agents and people.

use std::{process::ExitCode, sync::Arc};

use pintle::{Cx, Envelope, Hooks, PluginFilter};
use pintle_agent::{
    Completion, Store, TicketBoard, TicketError,
    store::{OPERATOR, Ticket, TicketState},
};
use serde_json::json;

use crate::{
    agents::refuse_agents,
    args::{Tickets, TicketsCommand},
    assembly::{AgentOptions, Assembled},
    chat::now_ms,
    environment::Environment,
    out::{say, say_json, say_line, say_pretty_json, tell},
    problem::Problem,
    shown::{Show, Shown, bold, cyan, dim, green, lines, red, text, yellow},
    store,
    term::{Column, Table, ago, width},
};

pub(crate) async fn run(environment: &Environment, tickets: Tickets) -> Result<ExitCode, Problem> {
    let command = tickets.command.unwrap_or(TicketsCommand::List { state: None });
    if let TicketsCommand::Complete { id, summary, who } = &command {
        let assembled = Assembled::new(environment, who, AgentOptions::default()).await?;
        let hooks = assembled.agent.hooks().clone();
        let board = board(assembled.store.clone(), hooks);
        let completed = board.complete(*id, summary).await;
        assembled.close().await;
        return completion(environment, completed?);
    }
    let store = store::open(environment).await?;
    let board = board(store.clone(), Hooks::new());
    match command {
        TicketsCommand::List { state } => {
            let state = state.as_deref().and_then(TicketState::named);
            list(environment, &board.list(state).await?)?;
        }
        TicketsCommand::Show { id } => show(environment, &*store, id).await?,
        TicketsCommand::Create { title, criteria, check } => {
            if title.trim().is_empty() {
                return Err(Problem::usage("the title is blank").fix("say what to do"));
            }
            if check.is_some() {
                // It runs without a question.
                refuse_agents("give a ticket a check")?;
            }
            let made = board.create(title.trim(), criteria.as_deref(), check.as_deref()).await?;
            said(environment, &made, "created")?;
        }
        TicketsCommand::Take { id } => said(environment, &board.take(id).await?, "taken")?,
        TicketsCommand::Release { id } => {
            said(environment, &board.release(id).await?, "released")?;
        }
        TicketsCommand::Complete { .. } => {}
        TicketsCommand::Delete { id } => {
            if !store.delete_ticket(id).await? {
                return Err(TicketError::Unknown(id).into());
            }
            match environment.json {
                true => say_json(&json!({ "deleted": id }))?,
                false => say!("deleted ticket {}", id),
            }
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The board as the person at this terminal uses it.
fn board(store: Arc<dyn Store>, hooks: Hooks) -> TicketBoard {
    let envelope = Envelope { platform: "cli".into(), ts: now_ms(), ..Envelope::default() };
    TicketBoard::for_person(store, hooks, Cx::new(envelope, PluginFilter::All), OPERATOR)
}

fn list(environment: &Environment, tickets: &[Ticket]) -> Result<(), Problem> {
    if environment.json {
        return say_pretty_json(&tickets);
    }
    if tickets.is_empty() {
        say!("No tickets.");
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("ID").right(),
        Column::new("STATE"),
        Column::new("TITLE"),
        Column::new("ASSIGNEE").below(),
        Column::new("MOVED").below(),
    ]);
    for ticket in tickets {
        table.row([
            cyan(ticket.id.to_string()),
            state(ticket.state),
            ticket.title.lines().next().unwrap_or_default().shown(),
            dim(ticket.assignee.clone().unwrap_or_default()),
            ago(ticket.updated_at, now_ms()).shown(),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    if environment.stdout_is_terminal {
        tell!("{}", dim("pintle tickets show ID · pintle tickets create TITLE"));
    }
    Ok(())
}

fn state(state: TicketState) -> Shown {
    match state {
        TicketState::Todo => state.name().shown(),
        TicketState::Running => cyan(state.name()),
        TicketState::NeedsRevision => yellow(state.name()),
        TicketState::Done => green(state.name()),
    }
}

async fn show(environment: &Environment, store: &dyn Store, id: u64) -> Result<(), Problem> {
    let ticket = store.ticket(id).await?.ok_or(TicketError::Unknown(id))?;
    let reputation = match &ticket.assignee {
        Some(assignee) => Some(store.reputation(assignee).await?),
        None => None,
    };
    if environment.json {
        let reputation = reputation.map(|it| {
            json!({ "accepted": it.accepted, "rejected": it.rejected,
                    "successRatio": it.success_ratio(), "autonomyTier": it.autonomy_tier() })
        });
        return say_pretty_json(&json!({ "ticket": ticket, "reputation": reputation }));
    }
    let made = text!("by {}, {}", ticket.created_by, ago(ticket.created_at, now_ms()));
    say!("{} {}", bold(text!("ticket {}", id)), dim(made));
    say!("{}", lines(&ticket.title));
    say!("{} {}", dim("state"), state(ticket.state));
    if let (Some(assignee), Some(reputation)) = (&ticket.assignee, reputation) {
        let all = reputation.accepted + reputation.rejected;
        let tier = reputation.autonomy_tier();
        let earned = text!("({} of {} accepted, tier {})", reputation.accepted, all, tier);
        say!("{} {} {}", dim("assignee"), assignee, dim(earned));
    }
    let more = [
        ("criteria", &ticket.acceptance_criteria),
        ("check", &ticket.check),
        ("summary", &ticket.summary),
        ("rejected", &ticket.reason),
    ];
    for (what, value) in more {
        if let Some(value) = value {
            say!("{} {}", dim(what), lines(value.trim_end()));
        }
    }
    Ok(())
}

fn said(environment: &Environment, ticket: &Ticket, what: &'static str) -> Result<(), Problem> {
    match environment.json {
        true => say_json(ticket)?,
        false => say!("{} ticket {}: {}", what, cyan(ticket.id.to_string()), ticket.title),
    }
    Ok(())
}

fn completion(environment: &Environment, completed: Completion) -> Result<ExitCode, Problem> {
    let (ticket, code) = match completed {
        Completion::Done(ticket) => (ticket, ExitCode::SUCCESS),
        Completion::NeedsRevision(ticket) => (ticket, ExitCode::FAILURE),
    };
    match (environment.json, &ticket.reason) {
        (true, _) => say_json(&ticket)?,
        (false, None) => say!("ticket {} is {}", ticket.id, green("done")),
        (false, Some(reason)) => {
            say!("ticket {} {}: {}", ticket.id, red("needs revision"), lines(reason));
        }
    }
    Ok(code)
}

impl From<TicketError> for Problem {
    fn from(error: TicketError) -> Self {
        match error {
            TicketError::Store(error) => error.into(),
            unknown @ TicketError::Unknown(_) => {
                Self::not_found(unknown).fix("pintle tickets lists them")
            }
            other => Self::new(other),
        }
    }
}
