//! `ticket_list`: what is on the board.

use pintle_agent::{
    TicketBoard, ToolError,
    store::{Ticket, TicketState},
};
use serde_json::{Value, json};

use super::{Run, TicketTool, in_words, told};
use crate::{
    args::{Args, failed},
    capture::{KEPT_HALF, cut},
};

const NAME: &str = "ticket_list";

pub(super) fn tool() -> TicketTool {
    let description = "Lists the tickets of the board, newest first.";
    let states = TicketState::ALL.map(TicketState::name);
    let properties = json!({
        "state": {"type": "string", "enum": states, "description": "Only those in this state."}
    });
    let run: Run = |args, board| Box::pin(list(args, board));
    TicketTool::new(NAME, description, properties, &[], run).changing_nothing()
}

async fn list(args: Value, board: TicketBoard) -> Result<String, ToolError> {
    let mut args = Args::of(NAME, &args)?;
    let state = args.optional_text("state")?;
    args.done()?;
    let unknown = |name: &str| failed(format!("{NAME}: there is no state `{name}`"));
    let state =
        state.map(|name| TicketState::named(name).ok_or_else(|| unknown(name))).transpose()?;
    let tickets = board.list(state).await.map_err(told)?;
    let lines: Vec<String> = tickets.iter().map(|ticket: &Ticket| in_words(ticket)).collect();
    Ok(match lines.is_empty() {
        true => "[there is no such ticket]".into(),
        false => cut(&lines.join("\n"), KEPT_HALF),
    })
}
