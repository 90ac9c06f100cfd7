//! `ticket_create`: puts work on the board.

use pintle_agent::{TicketBoard, ToolError};
use serde_json::{Value, json};

use super::{Run, TicketTool, in_words, told};
use crate::args::{Args, failed};

const NAME: &str = "ticket_create";

pub(super) fn tool() -> TicketTool {
    let description =
        "Puts a ticket on the board, for another agent, a person or yourself to take.";
    let properties = json!({
        "title": {"type": "string", "minLength": 1, "description": "What to do, with all one needs to know."},
        "acceptanceCriteria": {
            "type": "string", "description": "How one sees that it is done. A completion is checked against it."
        }
    });
    let run: Run = |args, board| Box::pin(create(args, board));
    TicketTool::new(NAME, description, properties, &["title"], run)
}

async fn create(args: Value, board: TicketBoard) -> Result<String, ToolError> {
    let mut args = Args::of(NAME, &args)?;
    let title = args.text("title")?.trim();
    let criteria = args.optional_text("acceptanceCriteria")?.map(str::trim);
    args.done()?;
    if title.is_empty() {
        return Err(failed(format!("{NAME}: the title is blank; say what to do")));
    }
    let criteria = criteria.filter(|criteria| !criteria.is_empty());
    let ticket = board.create(title, criteria, None).await.map_err(told)?;
    Ok(in_words(&ticket))
}
