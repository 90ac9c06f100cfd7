//! Stopping a run anywhere leaves a session that can be resumed (R6.5).

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{
    Event, Verdict,
    points::{
        AfterLlmCall, AfterToolCall, AgentDone, BeforeLlmCall, BeforePromptBuild, BeforeToolCall,
        ModelPost, ModelPre, PromptPatch, RunStart, SessionOpened, ToolCallPatch, ToolEndWithPath,
        ToolPost, ToolPre, UserPromptSubmit,
    },
};
use pintle_agent::{
    Agent, ApprovalOutcome, ApprovalRequest, Approver, Interceptors, Message, RunRequest,
};
use serde_json::{Value, json};

use crate::support::{
    Ends, Swamp, World, assert_whole, calls, done, of_type, play, readable, rest, results, says,
    tool, tool_with_cx, until,
};

const STEPS: [&str; 18] = [
    "session_start",
    "session.start",
    "user.prompt.submit",
    "before_prompt_build",
    "model.pre",
    "before_llm_call",
    "model",
    "after_llm_call",
    "model.post",
    "interceptor.before",
    "before_tool_call",
    "tool.pre",
    "approval",
    "tool",
    "interceptor.after",
    "after_tool_call",
    "tool_end_with_path",
    "tool.post",
];

struct StuckApprover(Swamp);

impl Approver for StuckApprover {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        self.0.stuck()
    }
}

/// An agent that gets stuck at this step.
fn stuck_at(step: &str, world: &World, swamp: &Swamp) -> Agent {
    let (hooks, swamp) = (world.hooks.clone(), swamp.clone());
    let stuck = hooks.named("swamp");
    let mut interceptors = Interceptors::default();
    let mut builder = world.builder();
    let in_tool = (step == "tool").then(|| swamp.clone());
    match step {
        "session_start" => {
            drop(stuck.register_void(move |_: Event<SessionOpened>| swamp.stuck::<()>()))
        }
        "session.start" => {
            drop(stuck.register_gate(move |_: Event<RunStart>| swamp.stuck::<Verdict>()))
        }
        "user.prompt.submit" => {
            drop(stuck.register_gate(move |_: Event<UserPromptSubmit>| swamp.stuck::<Verdict>()))
        }
        "before_prompt_build" => {
            drop(stuck.register_modifying(move |_: Event<BeforePromptBuild>| {
                swamp.stuck::<Option<PromptPatch>>()
            }))
        }
        "model.pre" => {
            drop(stuck.register_gate(move |_: Event<ModelPre>| swamp.stuck::<Verdict>()))
        }
        "before_llm_call" => {
            drop(stuck.register_void(move |_: Event<BeforeLlmCall>| swamp.stuck::<()>()))
        }
        "after_llm_call" => {
            drop(stuck.register_void(move |_: Event<AfterLlmCall>| swamp.stuck::<()>()))
        }
        "model.post" => {
            drop(stuck.register_gate(move |_: Event<ModelPost>| swamp.stuck::<Verdict>()))
        }
        "interceptor.before" => {
            interceptors = interceptors.before("swamp", "*", move |_| swamp.stuck()).unwrap();
        }
        "before_tool_call" => drop(stuck.register_modifying(move |_: Event<BeforeToolCall>| {
            swamp.stuck::<Option<ToolCallPatch>>()
        })),
        "tool.pre" => drop(stuck.register_gate(move |_: Event<ToolPre>| swamp.stuck::<Verdict>())),
        "approval" => builder = builder.approver(Arc::new(StuckApprover(swamp))),
        "interceptor.after" => {
            interceptors = interceptors.after("swamp", "*", move |_, _| swamp.stuck()).unwrap();
        }
        "after_tool_call" => {
            drop(stuck.register_void(move |_: Event<AfterToolCall>| swamp.stuck::<()>()))
        }
        "tool_end_with_path" => {
            drop(stuck.register_void(move |_: Event<ToolEndWithPath>| swamp.stuck::<()>()))
        }
        "tool.post" => {
            drop(stuck.register_gate(move |_: Event<ToolPost>| swamp.stuck::<Verdict>()))
        }
        "model" | "tool" => {}
        other => panic!("there is no step {other}"),
    }
    let work = move |_: Value| match &in_tool {
        Some(swamp) => swamp.stuck(),
        None => async { Ok("worked".into()) }.boxed(),
    };
    builder.tools([tool("work", work)]).interceptors(interceptors).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn cancelling_at_any_step_leaves_a_session_that_can_be_resumed() {
    let mut all = String::new();
    for step in STEPS {
        let path = if step == "approval" { "../outside" } else { "inside" };
        let script = match step {
            "model" => json!([{"delayMs": 600_000, "text": "never said"}]),
            _ => json!([calls(&[("t1", "work", json!({"path": path}))])]),
        };
        let world = World::new(script).await;
        let (swamp, ends) = (Swamp::default(), Ends::watch(&world.hooks));
        let agent = stuck_at(step, &world, &swamp);
        let run = agent.run(RunRequest::new("cli:test", "work"));
        match step {
            "model" => {
                while world.llm.requests().is_empty() {
                    tokio::task::yield_now().await;
                }
            }
            _ => swamp.reached().await,
        }
        run.cancel();
        let events = rest(run).await;
        all.push_str(&format!("== {step}\n{}", readable(&events, world.workspace())));

        assert_eq!(done(&events).1, "aborted", "{step}");
        assert_eq!(ends.reasons(), ["aborted"], "{step}");
        assert!(step == "model" || swamp.left(), "{step}: the handler was dropped");
        let history = world.history().await;
        assert_whole(&history);
        let stored = !matches!(step, "session_start" | "session.start" | "user.prompt.submit");
        assert_eq!(!history.is_empty(), stored, "{step}");

        let world = world.again(json!([says("Here I am.")]));
        let next = play(&world.agent(), "and now?").await;
        assert_eq!(done(&next), ("Here I am.".into(), "end_turn".into()), "{step}");
        assert_whole(&world.llm.requests()[0].messages);
    }
    insta::assert_snapshot!(all);
}

// R6.1, R6.5
#[tokio::test(start_paused = true)]
async fn a_call_that_ended_before_the_run_was_stopped_keeps_its_result() {
    let three = [("t1", "quick", json!({})), ("t2", "slow", json!({})), ("t3", "gone", json!({}))];
    let world = World::new(json!([calls(&three)])).await;
    let swamp = Swamp::default();
    let slow = swamp.clone();
    let agent = world
        .builder()
        .tools([
            tool("quick", |_| async { Ok("quick as a flash".into()) }),
            tool("slow", move |_| slow.stuck()),
        ])
        .build()
        .unwrap();
    let mut run = agent.run(RunRequest::new("cli:test", "work"));
    let mut events = Vec::new();
    while of_type(&events, "tool.end").len() < 2 {
        events.extend(until(&mut run, "tool.end").await);
    }
    swamp.reached().await;
    run.cancel();
    events.extend(rest(run).await);
    assert_eq!(of_type(&events, "tool.end").len(), 3);
    let results = results(&world.history().await);
    let ids: Vec<_> = results.iter().map(|(id, failed, _)| (id.as_str(), *failed)).collect();
    assert_eq!(ids, [("t1", false), ("t2", true), ("t3", true)]);
    assert_eq!(results[0].2, "quick as a flash");
    assert!(results[1].2.contains("stopped while this call was running"), "{}", results[1].2);
    assert!(results[2].2.contains("there is no tool `gone`"), "{}", results[2].2);
}

// R6.5: the caller just drops the run.
#[tokio::test(start_paused = true)]
async fn a_dropped_run_still_fires_session_end() {
    let world = World::new(json!([calls(&[("t1", "slow", json!({}))])])).await;
    let (swamp, ends) = (Swamp::default(), Ends::watch(&world.hooks));
    let outcome = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = outcome.clone();
    let watch = move |e: Event<AgentDone>| {
        seen.lock().unwrap().push((e.outcome.clone(), e.turn_count, e.total_tool_calls));
        async {}
    };
    world.hooks.register_void(watch).unwrap();
    let slow = swamp.clone();
    let agent = world.builder().tools([tool("slow", move |_| slow.stuck())]).build().unwrap();
    let run = agent.run(RunRequest::new("cli:test", "work"));
    swamp.reached().await;
    drop(run);
    agent.settle().await;
    assert!(swamp.left());
    assert_eq!(ends.reasons(), ["aborted"]);
    assert_eq!(*outcome.lock().unwrap(), [("aborted".to_string(), 1, 1)]);
    let history = world.history().await;
    assert_whole(&history);
    assert!(matches!(history.last(), Some(Message::ToolResults { .. })));
}

// Step 12: slow handlers at the end delay nothing the user sees.
#[tokio::test(start_paused = true)]
async fn done_comes_before_the_last_handlers_and_the_next_run_does_not_wait_for_them() {
    let world = World::new(json!([says("First."), says("Second.")])).await;
    let swamp = Swamp::default();
    let slow = swamp.clone();
    let registration =
        world.hooks.register_void(move |_: Event<AgentDone>| slow.stuck::<()>()).unwrap();
    let agent = world.agent();
    let mut first = agent.run(RunRequest::new("cli:test", "one"));
    until(&mut first, "done").await;
    swamp.reached().await;
    registration.unregister();
    let second = play(&agent, "two").await;
    assert_eq!(done(&second), ("Second.".into(), "end_turn".into()));
    assert!(!swamp.left(), "the first run's last handler is still at it");
}

// P1: the points after a tool fire also when the run is stopped, for the call that ran and for the one that did not.
#[tokio::test(start_paused = true)]
async fn a_tool_that_was_stopped_is_still_told_of() {
    let both = [("t1", "slow", json!({"path": "here"})), ("t2", "slow", json!({}))];
    let world = World::new(json!([calls(&both)])).await;
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (after, path, post) = (told.clone(), told.clone(), told.clone());
    let tell = move |e: Event<AfterToolCall>| {
        after.lock().unwrap().push(format!("after {} {:?}", e.tool_call_id, e.outcome));
        async {}
    };
    world.hooks.register_void(tell).unwrap();
    let tell = move |e: Event<ToolEndWithPath>| {
        path.lock().unwrap().push(format!("path {}", e.file_path));
        async {}
    };
    world.hooks.register_void(tell).unwrap();
    let tell = move |e: Event<ToolPost>| {
        post.lock().unwrap().push(format!("post {} {}", e.tool_call_id, e.is_error));
        async { Verdict::allow() }
    };
    world.hooks.register_gate(tell).unwrap();
    // The second call is still being judged when the run is stopped.
    let swamp = Swamp::default();
    let judge = swamp.clone();
    let gate = move |e: Event<ToolPre>| match e.tool_call_id.as_str() {
        "t2" => judge.stuck(),
        _ => async { Verdict::allow() }.boxed(),
    };
    world.hooks.register_gate(gate).unwrap();
    let agent = world.builder().tools([tool("slow", |_| async { Ok("".into()) })]).build().unwrap();
    let run = agent.run(RunRequest::new("cli:test", "work"));
    swamp.reached().await;
    run.cancel();
    rest(run).await;
    assert_eq!(*told.lock().unwrap(), ["after t1 Cancelled", "after t2 Cancelled"], "neither ran");

    told.lock().unwrap().clear();
    let hooks = world.hooks.clone();
    let mut world = world.again(json!([calls(&both[..1])]));
    world.hooks = hooks;
    let swamp = Swamp::default();
    let slow = swamp.clone();
    let agent = world.builder().tools([tool("slow", move |_| slow.stuck())]).build().unwrap();
    let run = agent.run(RunRequest::new("cli:test", "work"));
    swamp.reached().await;
    run.cancel();
    rest(run).await;
    assert_eq!(
        *told.lock().unwrap(),
        ["after t1 Cancelled", "path here", "post t1 true"],
        "it ran"
    );
    assert_whole(&world.history().await);
}

// P5: an observer that hangs cannot keep a run from being stopped.
#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_does_not_hold_up_the_end() {
    let world = World::new(json!([calls(&[("t1", "slow", json!({"path": "here"}))])])).await;
    let (swamp, ends) = (Swamp::default(), Ends::watch(&world.hooks));
    let (after, path) = (swamp.clone(), swamp.clone());
    world.hooks.register_void(move |_: Event<AfterToolCall>| after.stuck::<()>()).unwrap();
    world.hooks.register_void(move |_: Event<ToolEndWithPath>| path.stuck::<()>()).unwrap();
    let in_tool = Swamp::default();
    let slow = in_tool.clone();
    let agent = world.builder().tools([tool("slow", move |_| slow.stuck())]).build().unwrap();
    let run = agent.run(RunRequest::new("cli:test", "work"));
    in_tool.reached().await;
    run.cancel();
    assert_eq!(done(&rest(run).await).1, "aborted");
    assert_eq!(ends.reasons(), ["aborted"]);
    assert_whole(&world.history().await);
}

// A tool that handed work to a task of its own hears that the run is over.
#[tokio::test(start_paused = true)]
async fn a_tools_own_task_hears_that_the_run_was_stopped() {
    let world = World::new(json!([calls(&[("t1", "busy", json!({}))])])).await;
    let (swamp, heard) = (Swamp::default(), Arc::new(tokio::sync::Notify::new()));
    let (stuck, tell) = (swamp.clone(), heard.clone());
    let busy = tool_with_cx("busy", move |_, cx| {
        let tell = tell.clone();
        tokio::spawn(async move {
            cx.cancel.cancelled().await;
            tell.notify_one();
        });
        stuck.stuck()
    });
    let agent = world.builder().tools([busy]).build().unwrap();
    let run = agent.run(RunRequest::new("cli:test", "work"));
    swamp.reached().await;
    run.cancel();
    heard.notified().await;
    assert_eq!(done(&rest(run).await).1, "aborted");
}
