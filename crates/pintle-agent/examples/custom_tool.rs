//! How do I add a tool of my own?
//!
//! It declares its zone and its paths, so guards and zones treat it like a built-in one.
//!
//! ```sh
//! cargo run --example custom_tool
//! ```

#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::{error::Error, sync::Arc};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use pintle::{Hooks, points::PersonalityConfig};
use pintle_agent::testing::{Answer, MemoryStore, ScriptedLlm};
use pintle_agent::{
    Agent, PermittedCall, Personalities, Personality, Policy, RunEventKind, RunRequest, Tool,
    ToolCx, ToolError, ToolSpec, Zone,
};
use pintle_policy::{Guard, GuardKind};
use serde_json::json;

/// Counts the lines of a file.
struct CountLines;

impl Tool for CountLines {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"]
        });
        ToolSpec::new("count_lines", "Counts the lines of a file.", schema)
            .in_zone(Zone::Safe)
            .with_paths(["path"])
    }

    fn run(
        &self,
        call: PermittedCall,
        _cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        async move {
            // The path that was judged, not the text of the argument.
            let place = call
                .reach()
                .path("path")
                .ok_or_else(|| ToolError::Failed("there is no path".into()))?;
            let place = place.map_err(|error| ToolError::Failed(error.to_string()))?;
            let text = std::fs::read_to_string(place)
                .map_err(|error| ToolError::Failed(error.to_string()))?;
            Ok(format!("{} lines", text.lines().count()))
        }
        .boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let workspace = tempfile::tempdir()?;
    std::fs::write(workspace.path().join("notes.txt"), "one\ntwo\n")?;
    std::fs::write(workspace.path().join("keys.txt"), "secret\n")?;
    let llm = ScriptedLlm::new([
        Answer::calls([
            ("t1", "count_lines", json!({ "path": "notes.txt" })),
            ("t2", "count_lines", json!({ "path": "keys.txt" })),
        ]),
        Answer::text("Done."),
    ]);
    let keep_keys = Guard::new("*", GuardKind::Path, &[], &["keys.txt".into()], "example")?;
    let policy =
        Policy { guards: vec![keep_keys], ..Policy::standard(workspace.path().canonicalize()?) };
    let personality = Personality::new("main", PersonalityConfig::default().prompt("You count."))?;
    let agent = Agent::builder(
        Hooks::new(),
        llm,
        Arc::new(MemoryStore::default()),
        Personalities::new(personality),
        policy,
    )
    .tools([Arc::new(CountLines) as Arc<dyn Tool>])
    .build()?;

    let mut run = agent.run(RunRequest::new("demo", "count"));
    let mut results = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEventKind::ToolEnd { ok, content, error, .. } = event.kind {
            println!("{}", content.or(error).unwrap_or_default());
            results.push(ok);
        }
    }
    results.sort_unstable();
    assert_eq!(results, [false, true], "the guard stops one call, the other runs");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_tool_is_added_and_guarded() {
        super::main().unwrap();
    }
}
