//! §14: what a conversation has read from outside is known to every judgement after it, wherever the run goes on.

use std::sync::{Arc, Mutex};

use pintle::{
    Event, Verdict,
    points::{ToolOutcome, ToolPost, ToolPre, Untrusted},
};
use pintle_agent::{
    Agent, Limits, Message, NewMessage, NewSession, NoteMemory, RunRequest, Tool, ToolCall,
    ToolError, ToolSpec, Zone,
    store::{CallEnd, Intent, NewNote, NoteScope},
    testing::tool_fn,
    unfenced,
};
use serde_json::{Value, json};

use crate::support::{World, calls, of_type, play, rest, says, tool_with_cx};

/// What `tool.pre` says of text from outside, call by call.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Option<Untrusted>>>>);

impl Seen {
    fn at(world: &World) -> Self {
        let seen = Self::default();
        let keep = seen.clone();
        let watch = move |e: Event<ToolPre>| {
            keep.0.lock().unwrap().push(e.untrusted.clone());
            Verdict::allow()
        };
        world.hooks.register_gate(watch).unwrap();
        seen
    }

    fn from(&self) -> Vec<Option<String>> {
        self.0.lock().unwrap().iter().map(|it| it.as_ref().map(|it| it.from.clone())).collect()
    }

    fn last(&self) -> Option<Untrusted> {
        self.0.lock().unwrap().last().cloned().flatten()
    }
}

/// A tool that reads what strangers wrote.
fn fetch() -> Arc<dyn Tool> {
    let spec = ToolSpec::new("fetch", "For a test.", json!({"type": "object"}));
    tool_fn(spec.in_zone(Zone::Network), async |_, _| Ok("a page".to_string()))
}

fn list() -> Value {
    calls(&[("l", "list_dir", json!({"path": "."}))])
}

fn some(from: &str) -> Option<String> {
    Some(from.to_string())
}

#[tokio::test]
async fn a_file_elsewhere_and_a_command_that_needs_the_network_are_outside() {
    let script = json!([
        calls(&[("1", "read_file", json!({"path": "a.txt"}))]),
        list(),
        calls(&[("2", "terminal", json!({"command": "curl  x.example"}))]),
        list(),
        says("Done."),
        calls(&[("3", "read_file", json!({"path": "/etc/hostname"}))]),
        list(),
        says("Done."),
    ]);
    let mut world = World::new(script).await;
    std::fs::write(world.file("a.txt"), "a").unwrap();
    // Nobody is asked in this test.
    world.tools.retain(|tool| tool.spec().name != "read_file");
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let spec = ToolSpec::new("read_file", "For a test.", schema).in_zone(Zone::Safe);
    let reads = tool_fn(spec.with_paths(["path"]), async |_, _| Ok("text".to_string()));
    world.tools.push(reads);
    let seen = Seen::at(&world);
    let yes = pintle_agent::testing::approver_fn(async |_| {
        pintle_agent::ApprovalOutcome::Approved { by: "ann".into() }
    });
    let agent = world.builder().approver(yes).build().unwrap();
    play(&agent, "go").await;
    let curl = some("terminal: curl x.example");
    assert_eq!(seen.from(), [None, None, None, curl]);
    seen.0.lock().unwrap().clear();
    let new = RunRequest::in_new_session("cli:other", "go");
    rest(agent.run(new)).await;
    assert_eq!(seen.from(), [None, some("read_file: /etc/hostname")]);
}

#[tokio::test]
async fn a_strangers_message_is_stored_in_a_fence_and_marks_the_conversation() {
    let script = json!([list(), says("Hello."), list(), says("Hello.")]);
    let world = World::new(script).await;
    let seen = Seen::at(&world);
    let request = RunRequest::new("cli:test", "who are you?").from_stranger("telegram:42");
    let events = rest(world.agent().run(request)).await;
    assert_eq!(of_type(&events, "run.start")[0]["prompt"], "who are you?");
    let Message::User { text, .. } = &world.history().await[0] else { panic!() };
    assert!(text.starts_with("<untrusted id=\"") && unfenced(text) == "who are you?", "{text}");
    // Somebody else goes on with the conversation, in another process.
    play(&world.agent(), "and now?").await;
    assert_eq!(seen.from(), [some("telegram:42"), some("telegram:42")]);
}

#[tokio::test]
async fn notes_that_strangers_may_have_written_are_text_from_outside() {
    let search = calls(&[("s", "search", json!({}))]);
    let script = json!([search, list(), says("Done."), list(), says("Done.")]);
    let mut world = World::new(script).await;
    world.tools.push(tool_with_cx("search", async |_: Value, cx| {
        let found = cx.notes.search("obey", 5).await;
        Ok(found.map_err(|it| ToolError::Failed(it.to_string()))?.len().to_string())
    }));
    let here = world.workspace().display().to_string();
    let scope = NoteScope { personality: "main".into(), workspace: here.clone() };
    let note = NewNote { scope, text: "obey".into(), untrusted: true };
    world.store.add_note(note).await.unwrap();
    let seen = Seen::at(&world);
    play(&world.agent(), "go").await;
    assert_eq!(seen.from(), [None, some("search")]);
    // With memory they are in the prompt from the start.
    seen.0.lock().unwrap().clear();
    let memory = Arc::new(NoteMemory::new(world.store.clone(), here));
    let agent = world.builder().memory(memory).build().unwrap();
    rest(agent.run(RunRequest::in_new_session("cli:other", "go"))).await;
    assert_eq!(seen.from(), [some("notes")]);
}

#[tokio::test]
async fn a_summary_keeps_the_mark_of_what_it_stands_for() {
    for (objects, reads) in [(false, true), (true, true), (false, false)] {
        let first = if reads { calls(&[("f", "fetch", json!({}))]) } else { list() };
        let script = json!([
            first,
            says("1"),
            says("2"),
            says("3"),
            says("4"),
            says("5"),
            says("A summary."),
            list(),
            says("Done.")
        ]);
        let mut world = World::new(script).await;
        world.tools.push(fetch());
        if objects {
            let object = |_: Event<ToolPost>| Verdict::block("it gives orders");
            world.hooks.named("scanner").register_gate(object).unwrap();
        }
        let agent = world.agent();
        for _ in 0..5 {
            play(&agent, "go").await;
        }
        let session = world.session().await.id;
        rest(agent.run(RunRequest::compact(&session, ""))).await;
        let summary = world.store.conversation(&session).await.unwrap().summary.unwrap();
        assert_eq!(summary.text.contains("from outside"), reads, "{}", summary.text);
        let seen = Seen::at(&world);
        play(&world.agent(), "go").await;
        let read = seen.last();
        assert_eq!(read.is_some(), reads);
        assert_eq!(read.is_some_and(|it| it.suspicion.is_some()), objects);
        // The model that summarises reads the page in its fence.
        let asked = world.llm.requests().into_iter().find(|it| it.system.contains("summary of"));
        let Some(Message::User { text, .. }) = asked.unwrap().messages.first().cloned() else {
            panic!()
        };
        assert_eq!(text.contains("a page\n</untrusted id=\""), reads, "{text}");
    }
}

#[tokio::test]
async fn a_result_that_no_hook_saw_before_a_crash_is_suspicious() {
    let mut world = World::new(json!([list(), says("Done.")])).await;
    world.tools.push(fetch());
    let store = &world.store;
    let new = NewSession { key: "cli:test".into(), platform: "cli".into(), ..Default::default() };
    let session = store.open(new).await.unwrap();
    let claim = store.claim(&session).await.unwrap();
    let call = |id: &str, name: &str, input| {
        let (id, name) = (id.to_string(), name.to_string());
        ToolCall::default().id(id).name(name).input(input)
    };
    let tool_calls =
        vec![call("f", "fetch", json!({})), call("l", "list_dir", json!({"path": "."}))];
    let said = [Message::user("go"), Message::assistant("", tool_calls)];
    let said = said.map(|message| NewMessage { run_id: "dead".into(), message });
    store.append(&claim, said.into()).await.unwrap();
    for (id, tool) in [("f", "fetch"), ("l", "list_dir")] {
        let intent = Intent {
            id: id.into(),
            run_id: "dead".into(),
            tool_call_id: id.into(),
            tool: tool.into(),
            args_hash: String::new(),
            approval_id: None,
        };
        store.begin_call(&claim, intent).await.unwrap();
        let end = CallEnd { outcome: ToolOutcome::Ok, text: "text".into(), duration_ms: 1 };
        store.end_call(&claim, id, end).await.unwrap();
    }
    drop(claim);
    let seen = Seen::at(&world);
    rest(world.agent().run(RunRequest::resume(session.id))).await;
    let Message::ToolResults { results, .. } = &world.history().await[2] else { panic!() };
    let marked: Vec<_> = results.iter().map(|it| it.untrusted.is_some()).collect();
    assert_eq!(marked, [true, false]);
    assert!(seen.last().unwrap().suspicion.unwrap().contains("before any hook saw it"));
}

#[tokio::test]
async fn a_sub_agent_that_goes_on_alone_knows_what_its_parent_read() {
    let script = json!([
        calls(&[("f", "fetch", json!({}))]),
        calls(&[("d", "delegate", json!({"task": "help"}))]),
        says("Helped."),
        says("Done."),
        list(),
        says("Done."),
    ]);
    let mut world = World::new(script).await;
    world.tools.push(fetch());
    play(&world.agent(), "go").await;
    let sessions = world.store.sessions().await.unwrap();
    let child = sessions.into_iter().find(|it| it.parent.is_some()).unwrap();
    let seen = Seen::at(&world);
    let agent: Agent = world.builder().limits(Limits::default()).build().unwrap();
    rest(agent.run(RunRequest::in_session(child.id, "go on"))).await;
    assert_eq!(seen.from(), [some("fetch")]);
}
