//! `ticket_take`: begins to work on a ticket.

use pintle_agent::{TicketBoard, ToolError};
use serde_json::{Value, json};

use super::{Run, TicketTool, id, in_words, take_id, told};
use crate::args::Args;

const NAME: &str = "ticket_take";

pub(super) fn tool() -> TicketTool {
    let description = "Takes a ticket that is `todo` or `needs_revision`, so that you work on it and nobody else does.";
    let run: Run = |args, board| Box::pin(take(args, board));
    TicketTool::new(NAME, description, json!({ "id": id() }), &["id"], run)
}

async fn take(args: Value, board: TicketBoard) -> Result<String, ToolError> {
    let mut args = Args::of(NAME, &args)?;
    let id = take_id(&mut args, NAME)?;
    args.done()?;
    Ok(in_words(&board.take(id).await.map_err(told)?))
}
