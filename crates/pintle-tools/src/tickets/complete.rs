//! `ticket_complete`: says that a ticket is done. Hooks have their say about it.

use pintle_agent::{Completion, TicketBoard, ToolError};
use serde_json::{Value, json};

use super::{Run, TicketTool, id, take_id, told};
use crate::args::{Args, failed};

const NAME: &str = "ticket_complete";

pub(super) fn tool() -> TicketTool {
    let description = "Says that a ticket you have taken is done. Its acceptance criteria are checked; if one is not met, \
                       the ticket needs revision: mend what is missing, take it again and complete it again.";
    let properties = json!({
        "id": id(),
        "summary": {
            "type": "string", "minLength": 1, "description": "What was done, and how each acceptance criterion is met."
        }
    });
    let run: Run = |args, board| Box::pin(complete(args, board));
    TicketTool::new(NAME, description, properties, &["id", "summary"], run)
}

async fn complete(args: Value, board: TicketBoard) -> Result<String, ToolError> {
    let mut args = Args::of(NAME, &args)?;
    let id = take_id(&mut args, NAME)?;
    let summary = args.text("summary")?;
    args.done()?;
    match board.complete(id, summary).await.map_err(told)? {
        Completion::Done(_) => Ok(format!("ticket {id} is done")),
        Completion::NeedsRevision(ticket) => Err(failed(format!(
            "ticket {id} needs revision: {}",
            ticket.reason.unwrap_or_default()
        ))),
    }
}
