//! How do I build an agent with a guard?
//!
//! ```sh
//! cargo run --example guarded_agent
//! ```

#![allow(clippy::indexing_slicing, reason = "indexing a JSON value gives null, not a panic")]
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::{error::Error, sync::Arc};

use futures_util::StreamExt;
use pintle::{Event, Hooks, Verdict, points::PersonalityConfig, points::ToolPre};
use pintle_agent::testing::{Answer, MemoryStore, ScriptedLlm, tool_fn};
use pintle_agent::{
    Agent, Personalities, Personality, Policy, RunEventKind, RunRequest, ToolSpec, Zone,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let hooks = Hooks::new();
    hooks.named("no-prod").register_gate(|e: Event<ToolPre>| {
        match e.tool_input["service"].as_str() {
            Some("production") => Verdict::block("production is off limits; use staging"),
            _ => Verdict::allow(),
        }
    })?;

    let schema = json!({ "type": "object", "properties": { "service": { "type": "string" } } });
    let spec =
        ToolSpec::new("deploy", "Deploys a service.", schema).in_zone(Zone::Safe).with_paths([]);
    let deploy =
        tool_fn(spec, async |call, _cx| Ok(format!("deployed to {}", call.args()["service"])));

    // In place of a provider: what the model answers, request by request.
    let llm = ScriptedLlm::new([
        Answer::calls([("t1", "deploy", json!({ "service": "production" }))]),
        Answer::calls([("t2", "deploy", json!({ "service": "staging" }))]),
        Answer::text("It is on staging."),
    ]);
    let personality = Personality::new("main", PersonalityConfig::default().prompt("You deploy."))?;
    let agent = Agent::builder(
        hooks,
        llm,
        Arc::new(MemoryStore::default()),
        Personalities::new(personality),
        Policy::standard("."),
    )
    .tools([deploy])
    .build()?;

    let mut run = agent.run(RunRequest::new("demo", "deploy it"));
    let (mut blocked, mut ran) = (0, 0);
    while let Some(event) = run.next().await {
        match event.kind {
            RunEventKind::HookBlocked { handler, reason, .. } => {
                blocked += 1;
                println!("{handler} blocked it: {reason}");
            }
            RunEventKind::ToolEnd { ok: true, content: Some(content), .. } => {
                ran += 1;
                println!("{content}");
            }
            RunEventKind::Done { text, .. } => println!("{text}"),
            _ => {}
        }
    }
    assert_eq!((blocked, ran), (1, 1), "the first call is blocked, the second runs");
    Ok(())
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
