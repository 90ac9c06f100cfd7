//! P1: every declared point of the loop fires.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use pintle::{DynEvent, Failure, FireRecord, Hooks, RecordSink};
use pintle_agent::RunRequest;
use serde_json::{Value, json};

use crate::support::{World, calls, done, personality, play, rest, says};

/// Points that no run can fire: they belong to channels and to the ticket board, and are driven by their tests (`tickets.rs`).
const NOT_OF_THE_LOOP: [&str; 7] = [
    // Channels.
    "message_received",
    "message_sending",
    "message_sent",
    "inbound_claim",
    "before_dispatch",
    // Tickets.
    "before_ticket_complete",
    "after_ticket_revision",
];

#[derive(Default)]
struct Fired(Mutex<BTreeSet<(&'static str, bool)>>);

impl RecordSink for Fired {
    fn record(&self, record: Arc<FireRecord>) {
        let in_sub_agent = record.envelope.parent_session_id.is_some();
        self.0.lock().unwrap().insert((record.point, in_sub_agent));
    }
}

#[tokio::test]
async fn every_point_of_the_loop_fires_in_a_run_and_in_a_sub_agent() {
    let fired = Arc::new(Fired::default());
    let hooks = Hooks::builder().sink(fired.clone()).build();
    let read = ("t1", "list_dir", json!({"path": "."}));
    let delegate = ("d1", "delegate", json!({"task": "look"}));
    let deeper = ("d2", "delegate", json!({"task": "look deeper"}));
    let failure = json!({"error": {"code": "auth", "message": "no key"}});
    let too_long = json!({"error": {"code": "too_long"}});
    let script = json!([
        // A run with a tool and a sub-agent, which has both itself; the sub-agent's own one fails. Both get too long.
        calls(&[read.clone(), delegate]),
        calls(std::slice::from_ref(&read)),
        calls(&[read.clone(), deeper]),
        failure,
        too_long,
        says("They looked."),
        says("Looked."),
        calls(&[read]),
        too_long,
        says("They looked."),
        says("Done."),
        // A run that fails, after a switch of the personality.
        failure,
    ]);
    let mut world = World::with_hooks(script, hooks.clone()).await;
    world.personalities = world.personalities.with(personality("other", None, None));
    let agent = world.agent();
    assert_eq!(done(&play(&agent, "look").await), ("Done.".into(), "end_turn".into()));
    let failing = agent.run(RunRequest::new("cli:test", "again").as_personality("other"));
    assert_eq!(done(&rest(failing).await).1, "error");
    agent.settle().await;

    let declared: BTreeSet<_> = hooks.known_points().iter().map(|point| point.name).collect();
    for point in NOT_OF_THE_LOOP {
        assert!(declared.contains(point), "{point} is on the list of exceptions and is no point");
    }
    let of_the_loop: BTreeSet<_> =
        declared.into_iter().filter(|point| !NOT_OF_THE_LOOP.contains(point)).collect();
    assert_eq!(of_the_loop.len(), 22);
    let fired = |in_sub_agent: bool| -> BTreeSet<_> {
        let fired = fired.0.lock().unwrap();
        fired.iter().filter(|(_, sub)| *sub == in_sub_agent).map(|(point, _)| *point).collect()
    };
    assert_eq!(fired(false), of_the_loop, "in a run");
    // A sub-agent begins with its personality: it never switches.
    let mut of_a_sub_agent = of_the_loop;
    of_a_sub_agent.remove("personality_switched");
    assert_eq!(fired(true), of_a_sub_agent, "in a sub-agent");
}

// §6: the steps in their order, as anybody who listens to the run sees it.
#[tokio::test]
async fn the_points_of_a_run_fire_in_the_order_of_its_steps() {
    let path = json!({"path": "notes.txt"});
    let world = World::new(json!([calls(&[("t1", "read_file", path)]), says("Read.")])).await;
    for point in world.hooks.known_points() {
        let silent = |_: DynEvent| async { Ok::<_, Failure>(Value::Null) };
        world.hooks.register_dyn(point.name, point.model, silent).unwrap();
    }
    let events = play(&world.agent(), "read notes.txt").await;
    let told = events.iter().filter_map(|event| match event["type"].as_str()? {
        "hook.fired" => event["point"].as_str(),
        kind @ ("tool.start" | "tool.end" | "done") => Some(kind),
        _ => None,
    });
    let round = ["model.pre", "before_llm_call", "after_llm_call", "model.post"];
    let mut steps = vec!["session_start", "session.start", "user.prompt.submit"];
    steps.push("before_prompt_build");
    steps.extend(round);
    steps.extend(["before_tool_call", "tool.pre", "tool.start", "tool.end"]);
    steps.extend(["after_tool_call", "tool_end_with_path", "tool.post"]);
    steps.extend(round);
    steps.extend(["done", "agent_done", "session.end"]);
    assert_eq!(told.collect::<Vec<_>>(), steps);
}
