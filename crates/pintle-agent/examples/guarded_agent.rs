//! How do I build an agent with a guard?
//!
//! ```sh
//! cargo run --example guarded_agent
//! ```

#![allow(clippy::indexing_slicing, reason = "indexing a JSON value gives null, not a panic")]
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::{error::Error, sync::Arc};

use pintle::{Event, Hooks, Verdict, points::PersonalityConfig, points::ToolPre};
use pintle_agent::testing::{Answer, MemoryStore, ScriptedLlm, tool_fn};
use pintle_agent::{Agent, Personalities, Personality, Policy, RunRequest, ToolSpec, Zone};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let hooks = Hooks::new();
    hooks.named("guard").register_gate(|e: Event<ToolPre>| match e.tool_input["to"].as_str() {
        Some("production") => Verdict::block("production is off limits; use staging"),
        _ => Verdict::allow(),
    })?;
    let spec = ToolSpec::new("deploy", "Deploys a service.", json!({ "type": "object" }));
    let deploy = tool_fn(spec.in_zone(Zone::Safe).with_paths([]), async |call, _| {
        println!("deployed to {}", call.args()["to"]);
        Ok("done".to_owned())
    });
    let call = |id, to| Answer::calls([(id, "deploy", json!({ "to": to }))]);
    let answers = [call("t1", "production"), call("t2", "staging"), Answer::text("Deployed.")];
    let llm = ScriptedLlm::new(answers);
    let you = Personality::new("main", PersonalityConfig::default().prompt("You deploy."))?;
    let (store, policy) = (Arc::new(MemoryStore::default()), Policy::standard("."));
    let agent = Agent::builder(hooks, llm, store, Personalities::new(you), policy);
    let run = agent.tools([deploy]).build()?.run(RunRequest::new("demo", "deploy it"));
    println!("{}", run.finish().await.text);
    Ok(())
}
