//! §14, the skill queue: threshold, cool-down per personality, bounded.

use pintle::{Cx, Envelope, PluginFilter, points::AgentDone};
use pintle_agent::testing::Answer;
use pintle_consumers::{QueuedRun, SkillQueue};

use crate::world::{World, read};

const HOUR: u64 = 60 * 60 * 1000;

/// A run that ends, as the loop says it.
async fn ends(world: &World, run: &str, personality: &str, ts: u64, done: AgentDone) {
    let envelope = Envelope {
        run_id: Some(run.into()),
        session_id: Some("s".into()),
        personality_id: Some(personality.into()),
        ts,
        ..Envelope::default()
    };
    world.hooks.fire_void(&Cx::new(envelope, PluginFilter::BuiltinsOnly), || done).await.unwrap();
}

fn done(calls: u32) -> AgentDone {
    AgentDone::default()
        .text("ok")
        .initial_prompt("do it")
        .outcome("end_turn".to_string())
        .successful_tool_calls(calls)
}

fn bound(world: &World) -> SkillQueue {
    world.bind();
    SkillQueue::in_folder(&world.data())
}

fn runs(queue: &SkillQueue) -> Vec<String> {
    queue.pending().unwrap().into_iter().map(|run: QueuedRun| run.run_id).collect()
}

#[tokio::test]
async fn a_run_that_did_enough_is_queued_and_a_personality_then_waits() {
    let world = World::new();
    let queue = bound(&world);
    ends(&world, "small", "ann", HOUR, done(4)).await;
    ends(&world, "failed", "ann", HOUR, done(9).outcome("error".to_string())).await;
    ends(&world, "first", "ann", HOUR, done(5)).await;
    ends(&world, "too soon", "ann", 2 * HOUR - 1, done(9)).await;
    ends(&world, "other", "bob", 2 * HOUR - 1, done(9)).await;
    ends(&world, "later", "ann", 2 * HOUR, done(9)).await;
    assert_eq!(runs(&queue), ["first", "other", "later"]);
    // What is dropped stays dropped, and does not end the wait.
    assert!(queue.drop_run("later").unwrap() && !queue.drop_run("later").unwrap());
    ends(&world, "again", "ann", 2 * HOUR + 1, done(9)).await;
    assert_eq!(runs(&queue), ["first", "other"]);
}

#[tokio::test]
async fn a_full_queue_loses_its_oldest_run() {
    let mut world = World::new();
    world.settings.skill_queue.max_pending = 2;
    let queue = bound(&world);
    for (at, run) in ["a", "b", "c"].into_iter().enumerate() {
        ends(&world, run, run, u64::try_from(at).unwrap(), done(9)).await;
    }
    assert_eq!(runs(&queue), ["b", "c"]);
}

#[tokio::test]
async fn a_real_run_is_queued_with_what_it_did() {
    let mut world = World::new();
    world.settings.skill_queue.min_tool_calls = 1;
    world.write("a.rs", "a");
    world.play(vec![read("1", "a.rs"), Answer::text("Done.")]).await;
    let run = SkillQueue::in_folder(&world.data()).pending().unwrap().remove(0);
    assert_eq!((run.prompt.as_str(), run.text.as_str()), ("go", "Done."));
    assert_eq!((run.tool_names, run.successful_tool_calls), (vec!["read".to_string()], 1));
}

// P6: a queue that cannot be written is a recorded failure, and the run ends well.
#[tokio::test]
async fn a_queue_that_cannot_be_written_fails_the_handler_and_not_the_run() {
    let mut world = World::new();
    world.settings.skill_queue.min_tool_calls = 1;
    world.write("a.rs", "a");
    std::fs::write(world.data().join("skills.json"), "{ torn").unwrap();
    let (_, events) = world.play(vec![read("1", "a.rs"), Answer::text("Done.")]).await;
    let fired = events.iter().filter(|event| event["type"] == "hook.fired");
    let handler = |event: &serde_json::Value| event["handlers"][0].clone();
    let queued = fired.map(handler).find(|handler| handler["name"] == "skill queue").unwrap();
    assert_eq!(queued["outcome"], "errored");
    assert_eq!(crate::world::outcome(&events), "end_turn");
}
