//! Steps 1 to 5: the session, who speaks in it, and what the model is told about itself.

use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{
    Event, Failure, Hooks, Verdict,
    points::{
        AgentDone, BeforePromptBuild, PersonalityConfig, PersonalityPatch, PersonalitySwitched,
        PromptPatch, RunStart, SessionOpened, ToolPre,
    },
};
use pintle_agent::{Memory, Personalities, PromptPart, Recall, RunRequest, SAFETY_PRELUDE};
use serde_json::json;

use crate::support::{World, calls, done, of_type, personality, play, rest, says};

#[tokio::test]
async fn session_start_fires_on_the_first_run_and_again_after_a_restart() {
    let starts = Arc::new(Mutex::new(Vec::new()));
    let bind = |hooks: &Hooks| {
        let (first, every) = (starts.clone(), starts.clone());
        let watch = move |e: Event<SessionOpened>| {
            first.lock().unwrap().push(("session_start", e.resumed));
            async {}
        };
        hooks.register_void(watch).unwrap();
        let watch = move |e: Event<RunStart>| {
            every.lock().unwrap().push(("session.start", !e.new_session));
            async { Verdict::allow() }
        };
        hooks.register_gate(watch).unwrap();
    };
    let world = World::new(json!([says("One."), says("Two.")])).await;
    bind(&world.hooks);
    let agent = world.agent();
    play(&agent, "one").await;
    play(&agent, "two").await;
    let world = world.again(json!([says("Three.")]));
    bind(&world.hooks);
    play(&world.agent(), "three").await;
    assert_eq!(
        *starts.lock().unwrap(),
        [
            ("session_start", false),
            ("session.start", false),
            ("session.start", true),
            ("session_start", true),
            ("session.start", true),
        ]
    );
}

// R3: a Void handler that is registered fail-closed ends the run when it fails, before anything reaches the model.
#[tokio::test]
async fn a_fail_closed_observer_that_fails_ends_the_run() {
    let world = World::new(json!([says("never said")])).await;
    let audit =
        |_: Event<SessionOpened>| async { Err::<(), _>(Failure::errored("the audit log is full")) };
    world.hooks.named("audit").fail_closed().register_void(audit).unwrap();
    let events = play(&world.agent(), "hello").await;
    let (text, outcome) = done(&events);
    assert_eq!(outcome, "error");
    assert!(text.contains("audit") && text.contains("the audit log is full"), "{text}");
    assert_eq!(of_type(&events, "error")[0]["code"], "hook");
    assert!(world.llm.requests().is_empty());
}

struct Notes;

impl Memory for Notes {
    fn recall(&self, about: Recall<'_>) -> BoxFuture<'static, Vec<PromptPart>> {
        let text = format!("MEMORY of {}", about.prompt);
        async { vec![PromptPart { part: "memory", by: "notes".into(), text }] }.boxed()
    }
}

#[tokio::test]
async fn the_prompt_is_assembled_in_order() {
    let world = World::new(json!([says("Hello.")])).await;
    let patch = |e: Event<BeforePromptBuild>| async move {
        assert_eq!(e.history.len(), 1);
        assert!(e.system.ends_with("MEMORY of hello"), "{}", e.system);
        Some(PromptPatch::default().prepend_system("PREPENDED").append_system("APPENDED"))
    };
    world.hooks.register_modifying(patch).unwrap();
    let agent =
        world.builder().context("a file", "CONTEXT").memory(Arc::new(Notes)).build().unwrap();
    play(&agent, "hello").await;
    let expected = format!(
        "PREPENDED\n\n{SAFETY_PRELUDE}\n\nYou are main.\n\nCONTEXT\n\nMEMORY of hello\n\nAPPENDED"
    );
    assert_eq!(world.llm.requests()[0].system, expected);
}

#[tokio::test]
async fn a_switch_of_the_personality_lasts_and_its_handlers_may_replace_it() {
    let mut world = World::new(json!([says("1"), says("2"), says("3")])).await;
    world.personalities =
        Personalities::new(personality("main", None, None)).with(personality("pirate", None, None));
    let agent = world.agent();
    let run = agent.run(RunRequest::new("cli:test", "one").as_personality("pirate"));
    assert_eq!(rest(run).await[0]["personalityId"], "pirate");
    play(&agent, "two").await;
    let switched = |e: Event<PersonalitySwitched>| async move {
        assert_eq!((e.from.as_deref(), e.to.as_str()), (Some("pirate"), "main"));
        let config = PersonalityConfig::default().prompt("You are someone else.");
        Some(PersonalityPatch::default().personality(config))
    };
    world.hooks.register_modifying(switched).unwrap();
    let events = rest(agent.run(RunRequest::new("cli:test", "three").as_personality("main"))).await;
    let fired = of_type(&events, "hook.fired")[0];
    assert_eq!(fired["point"], "personality_switched");
    assert_eq!((&fired["runId"], &fired["traceId"]), (&events[1]["runId"], &events[1]["traceId"]));
    let spoke: Vec<_> = world
        .llm
        .requests()
        .iter()
        .map(|r| r.system.rsplit("\n\n").next().unwrap().to_string())
        .collect();
    assert_eq!(spoke, ["You are pirate.", "You are pirate.", "You are someone else."]);
}

#[tokio::test]
async fn an_unknown_personality_ends_the_run_with_a_hint() {
    let world = World::new(json!([says("never said")])).await;
    let run = world.agent().run(RunRequest::new("cli:test", "hello").as_personality("mian"));
    let (text, outcome) = done(&rest(run).await);
    assert_eq!(outcome, "error");
    assert!(text.contains("did you mean `main`?"), "{text}");
    assert!(world.llm.requests().is_empty());
}

#[tokio::test]
async fn agent_done_tells_what_the_run_did() {
    let both = [
        ("t1", "write_file", json!({"path": "a.txt", "content": "x"})),
        ("t2", "write_file", json!({"path": "no.txt", "content": "x"})),
    ];
    let world = World::new(json!([calls(&both), says("Half of it.")])).await;
    let gate = |e: Event<ToolPre>| async move {
        if e.tool_input["path"] == "no.txt" { Verdict::block("no") } else { Verdict::allow() }
    };
    world.hooks.register_gate(gate).unwrap();
    let told = Arc::new(Mutex::new(None));
    let keep = told.clone();
    let watch = move |e: Event<AgentDone>| {
        *keep.lock().unwrap() = Some(e.to_json());
        async {}
    };
    world.hooks.register_void(watch).unwrap();
    play(&world.agent(), "write").await;
    let told = told.lock().unwrap().clone().unwrap();
    for (field, expected) in [
        ("text", json!("Half of it.")),
        ("turnCount", json!(2)),
        ("successfulToolCalls", json!(1)),
        ("totalToolCalls", json!(2)),
        ("toolNames", json!(["write_file"])),
        ("initialPrompt", json!("write")),
        ("outcome", json!("end_turn")),
    ] {
        assert_eq!(told[field], expected, "{field}");
    }
}

// R4.5: `doctor --show-prompt` says who contributed, and who lost.
#[tokio::test]
async fn a_preview_says_who_won_each_part_of_the_prompt_and_who_lost() {
    let world = World::new(json!([])).await;
    let patch = |prepend: Option<&str>, append: &str| {
        PromptPatch::default().prepend_system(prepend.map(String::from)).append_system(append)
    };
    let (early, late) = (patch(None, "From early."), patch(Some("Late's start."), "From late."));
    for (name, priority, patch) in [("late", 1, late), ("early", 2, early)] {
        let give = move |_: Event<BeforePromptBuild>| {
            let patch = patch.clone();
            async move { Some(patch) }
        };
        world.hooks.named(name).priority(priority).register_modifying(give).unwrap();
    }
    let preview = world.agent().preview_prompt(None).await.unwrap();
    let parts: Vec<_> = preview
        .parts
        .iter()
        .map(|part| (part.part, part.by.as_str(), part.text.as_str()))
        .collect();
    assert_eq!(parts.first(), Some(&("prepend", "late", "Late's start.")));
    assert_eq!(parts.last(), Some(&("append", "early", "From early.")));
    assert!(!parts.iter().any(|(_, _, text)| text.contains("From late.")), "{parts:?}");
    let handlers = preview.record.unwrap().handlers.clone();
    let told: Vec<_> =
        handlers.iter().map(|handler| (&*handler.name, &*handler.won, &*handler.lost)).collect();
    let (won, lost) = (&["appendSystem"][..], &["appendSystem"][..]);
    assert_eq!(told, [("early", won, &[][..]), ("late", &["prependSystem"][..], lost)]);
    assert!(world.store.sessions().await.unwrap().is_empty(), "nothing is stored");
    assert!(world.llm.requests().is_empty(), "no model is asked");
}
