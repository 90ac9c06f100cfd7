//! The ticket tools: work that agents hand to each other. The board is in the agent's store, and the host writes it, so
//! every call is zone `safe`.

mod complete;
mod create;
mod list;
mod take;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use pintle_agent::{
    PermittedCall, TicketBoard, TicketError, Tool, ToolCx, ToolError, store::Ticket,
};
use pintle_policy::{ToolSpec, Zone};
use serde_json::{Value, json};

use crate::args::{Args, failed, schema};

type Run = fn(Value, TicketBoard) -> BoxFuture<'static, Result<String, ToolError>>;

/// One of the ticket tools.
pub struct TicketTool {
    spec: ToolSpec,
    run: Run,
}

impl TicketTool {
    /// All of them.
    pub fn all() -> [Self; 4] {
        [create::tool(), take::tool(), complete::tool(), list::tool()]
    }

    fn new(name: &str, description: &str, properties: Value, required: &[&str], run: Run) -> Self {
        let spec = ToolSpec::new(name, description, schema(properties, required))
            .in_zone(Zone::Safe)
            .with_paths([]);
        Self { spec, run }
    }

    fn changing_nothing(self) -> Self {
        Self { spec: self.spec.repeatable(), ..self }
    }
}

impl Tool for TicketTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        (self.run)(call.args().clone(), cx.tickets)
    }
}

/// The schema of a ticket's number.
fn id() -> Value {
    json!({"type": "integer", "minimum": 1, "description": "The ticket's number."})
}

fn take_id(args: &mut Args<'_>, tool: &str) -> Result<u64, ToolError> {
    let missing = || failed(format!("{tool}: the argument `id` is missing"));
    args.optional_count("id")?.ok_or_else(missing)
}

fn told(error: TicketError) -> ToolError {
    failed(error.to_string())
}

/// A ticket as the model reads it.
fn in_words(ticket: &Ticket) -> String {
    let Ticket { id, title, state, .. } = ticket;
    let mut text = format!("#{id} [{}] {title}", state.name());
    let more = [
        ("assignee", &ticket.assignee),
        ("acceptance criteria", &ticket.acceptance_criteria),
        ("check", &ticket.check),
        ("summary", &ticket.summary),
        ("rejected because", &ticket.reason),
    ];
    for (what, value) in more {
        if let Some(value) = value {
            text.push_str(&format!("\n  {what}: {}", value.trim().replace('\n', "\n    ")));
        }
    }
    text
}
