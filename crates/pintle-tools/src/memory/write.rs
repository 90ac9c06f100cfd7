//! `memory_write`: keeps a note.

use pintle_agent::{Notebook, ToolError};
use serde_json::{Value, json};

use super::{MemoryTool, Run};
use crate::args::{Args, failed};

const NAME: &str = "memory_write";

pub(super) fn tool() -> MemoryTool {
    let description = "Keeps a note for later conversations in this folder: what the person prefers, what was decided, what is \
                       hard to find out again. One fact in each note.";
    let longest = Notebook::LONGEST;
    let properties = json!({
        "text": {"type": "string", "minLength": 1, "maxLength": longest, "description": "The note."}
    });
    let run: Run = |args, notes| Box::pin(write(args, notes));
    MemoryTool::new(NAME, description, properties, "text", run)
}

async fn write(args: Value, notes: Notebook) -> Result<String, ToolError> {
    let mut args = Args::of(NAME, &args)?;
    let text = args.text("text")?.trim();
    args.done()?;
    let length = text.chars().count();
    if length == 0 || length > Notebook::LONGEST {
        let longest = Notebook::LONGEST;
        return Err(failed(format!(
            "{NAME}: a note has 1 to {longest} characters, and this one has {length}"
        )));
    }
    let note = notes.write(text).await.map_err(|error| failed(error.to_string()))?;
    Ok(match note.untrusted {
        false => format!("noted (note {})", note.id),
        true => format!(
            "noted (note {}), marked as untrusted: this conversation has read text of strangers",
            note.id
        ),
    })
}
