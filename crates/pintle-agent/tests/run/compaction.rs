//! R6.7: conversations that outgrow the model's window go on.

use std::sync::{Arc, Mutex};

use pintle::{
    Event, Verdict,
    points::{AfterCompaction, BeforeCompaction, CompactionPatch, CompactionReason, ModelPre},
};
use pintle_agent::{
    Agent, Limits, LlmRequest, Message, NewMessage, NewSession, RunRequest, ToolCall, ToolResult,
};
use serde_json::{Value, json};

use crate::support::{World, assert_whole, calls, done, of_type, play, rest, says};

const TOO_LONG: &str = "too_long";

/// A conversation of so many rounds, each with a tool call and some words.
async fn with_rounds(world: &World, rounds: usize) -> Vec<Message> {
    let session = world
        .store
        .open(NewSession { key: "cli:test".into(), ..Default::default() })
        .await
        .unwrap();
    let claim = world.store.claim(&session).await.unwrap();
    let mut messages = Vec::new();
    for round in 0..rounds {
        let (id, name) = (format!("c{round}"), "read_file".to_string());
        let call =
            ToolCall::default().id(id.clone()).name(name.clone()).input(json!({"path": "a"}));
        let content = format!("content {round} {}", "x".repeat(400));
        let result = ToolResult::default().tool_call_id(id).tool_name(name).content(content);
        messages.push(Message::user(format!("question {round}")));
        messages.push(Message::assistant("", vec![call]));
        messages.push(Message::tool_results(vec![result]));
        messages.push(Message::assistant(format!("answer {round}"), vec![]));
    }
    let stored =
        |message: &Message| NewMessage { run_id: "earlier".into(), message: message.clone() };
    world.store.append(&claim, messages.iter().map(stored).collect()).await.unwrap();
    messages
}

fn limited(world: &World, tokens: u64) -> Agent {
    let limits = Limits { context_tokens: Some(tokens), ..Limits::default() };
    world.builder().limits(limits).build().unwrap()
}

fn first_text(request: &LlmRequest) -> &str {
    let Message::User { text, .. } = &request.messages[0] else { panic!("{request:#?}") };
    text
}

async fn mark(world: &World) -> Option<(u64, String)> {
    let session = world.session().await;
    let summary = world.store.conversation(&session.id).await.unwrap().summary;
    summary.map(|summary| (summary.covers, summary.text))
}

#[tokio::test]
async fn a_request_that_would_not_fit_is_made_of_a_summary_and_the_newest_rounds() {
    let script = json!([says("They read files."), says("Done."), says("Still here.")]);
    let world = World::new(script).await;
    let earlier = with_rounds(&world, 40).await;
    let fired = Arc::new(Mutex::new(Vec::new()));
    let (before, after) = (fired.clone(), fired.clone());
    let patch = move |e: Event<BeforeCompaction>| {
        assert_eq!((e.reason, e.message_count), (CompactionReason::Auto, 161));
        before.lock().unwrap().push(e.tokens);
        Some(CompactionPatch::default().instructions("Keep file names.").keep_rounds(3))
    };
    world.hooks.register_modifying(patch).unwrap();
    let watch = move |e: Event<AfterCompaction>| {
        assert_eq!(e.summary, "They read files.");
        after.lock().unwrap().extend([e.tokens_before, e.tokens_after, e.kept_messages.into()]);
    };
    world.hooks.register_void(watch).unwrap();
    let agent = limited(&world, 3_000);
    let events = play(&agent, "go on").await;
    assert_eq!(done(&events), ("Done.".into(), "end_turn".into()));

    let requests = world.llm.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].system.contains("Keep file names."), "{}", requests[0].system);
    assert!(requests[0].tools.is_empty() && requests[0].messages.len() == 1);
    assert!(first_text(&requests[0]).contains("question 0"), "{}", first_text(&requests[0]));
    let sent = &requests[1].messages;
    assert!(first_text(&requests[1]).ends_with("They read files."));
    assert_whole(sent);
    // The newest three rounds: a call with its result, an answer, and the new question.
    assert_eq!(sent[1..sent.len() - 1], earlier[156..]);
    assert_eq!(sent.last(), Some(&Message::user("go on")));

    let fired = fired.lock().unwrap().clone();
    assert_eq!(fired[0], fired[1]);
    assert!(fired[2] < 3_000 && fired[1] > 2_550, "{fired:?}");
    assert_eq!(fired[3], u64::try_from(sent.len() - 1).unwrap());
    let event = of_type(&events, "compaction")[0];
    assert_eq!((&event["reason"], &event["leftOut"]), (&json!("auto"), &Value::Null));

    // What is stored is whole, with a mark; the next run goes on from it and asks for no summary.
    assert_eq!(world.history().await[..160], earlier);
    assert_eq!(mark(&world).await, Some((156, "They read files.".into())));
    assert_eq!(done(&play(&agent, "and now?").await).0, "Still here.");
    let next = &world.llm.requests()[2];
    assert!(first_text(next).ends_with("They read files."));
    assert_eq!(next.messages.len(), sent.len() + 2);
}

#[tokio::test]
async fn a_provider_that_finds_a_request_too_long_gets_a_shorter_one() {
    let script = json!([{"error": {"code": TOO_LONG}}, says("They read files."), says("Done.")]);
    let world = World::new(script).await;
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let seen = attempts.clone();
    let watch = move |e: Event<ModelPre>| {
        seen.lock().unwrap().push(e.message_count);
        Verdict::allow()
    };
    world.hooks.register_gate(watch).unwrap();
    with_rounds(&world, 10).await;
    let events = play(&world.agent(), "go on").await;
    assert_eq!(done(&events).0, "Done.");
    assert_eq!(of_type(&events, "compaction")[0]["reason"], "overflow");
    // Each attempt fires `model.pre` again: the request, the summary, the shorter request.
    let sent = u32::try_from(world.llm.requests()[2].messages.len()).unwrap();
    assert_eq!(*attempts.lock().unwrap(), [41, 1, sent]);
    assert_whole(&world.llm.requests()[2].messages);
}

#[tokio::test]
async fn rounds_that_cannot_be_summarised_are_left_out_and_everybody_reads_it() {
    let script = json!([{"error": {"code": TOO_LONG}}, {"error": {"code": "auth", "message": "no key"}}, says("Done.")]);
    let world = World::new(script).await;
    let earlier = with_rounds(&world, 10).await;
    let events = play(&world.agent(), "go on").await;
    assert_eq!(done(&events).0, "Done.");
    let event = of_type(&events, "compaction")[0];
    assert_eq!(event["problem"], "no key");
    let left_out = event["leftOut"].as_u64().unwrap();
    let request = &world.llm.requests()[2];
    let told = first_text(request);
    assert!(told.contains(&format!("{left_out} messages were left out")), "{told}");
    assert_whole(&request.messages);
    assert_eq!(world.history().await[..40], earlier);
    assert_eq!(mark(&world).await, None, "the next run tries again");
}

#[tokio::test]
async fn a_run_that_gets_too_long_by_itself_keeps_what_the_person_asked() {
    let read = || calls(&[("r", "read_file", json!({"path": "a.txt"}))]);
    let script = json!([read(), read(), read(), says("Read thrice."), says("Done.")]);
    let world = World::new(script).await;
    std::fs::write(world.file("a.txt"), "x".repeat(4_000)).unwrap();
    let events = play(&limited(&world, 4_000), "read it three times").await;
    assert_eq!(done(&events).0, "Done.");
    let last = world.llm.requests().pop().unwrap();
    let told = first_text(&last);
    assert!(told.contains("Read thrice.") && told.ends_with("read it three times"), "{told}");
    assert_whole(&last.messages);
    assert!(matches!(last.messages[1], Message::Assistant { .. }));
}

#[tokio::test]
async fn one_round_that_is_too_long_is_an_error_that_says_so() {
    let world =
        World::new(json!([{"error": {"code": TOO_LONG, "message": "prompt is too long"}}])).await;
    let events = play(&world.agent(), "go on").await;
    assert_eq!(done(&events), ("prompt is too long".into(), "error".into()));
    assert!(of_type(&events, "compaction").is_empty());
}

#[tokio::test]
async fn a_person_can_have_a_conversation_summarised() {
    let world = World::new(json!([says("They read files."), {"error": {"code": "auth"}}])).await;
    let agent = world.agent();
    with_rounds(&world, 2).await;
    let session = world.session().await.id;
    let run = |words: &str| rest(agent.run(RunRequest::compact(session.as_str(), words)));
    let (text, outcome) = done(&run("").await);
    assert!(text.starts_with("There is nothing to summarise"), "{text}");
    assert_eq!((outcome.as_str(), mark(&world).await), ("end_turn", None));

    with_rounds(&world, 20).await;
    let events = run("Keep file names.").await;
    let (text, outcome) = done(&events);
    assert!(text.starts_with("Summarised"), "{text}");
    assert_eq!((outcome.as_str(), world.history().await.len()), ("end_turn", 88));
    assert_eq!(of_type(&events, "compaction")[0]["reason"], "manual");
    assert!(world.llm.requests()[0].system.contains("Keep file names."));
    let marked = mark(&world).await;
    assert!(marked.is_some());

    with_rounds(&world, 20).await;
    let (text, outcome) = done(&run("").await);
    assert!(text.contains("could not be summarised, and stays as it is"), "{text}");
    assert_eq!((outcome.as_str(), mark(&world).await), ("error", marked));
}
