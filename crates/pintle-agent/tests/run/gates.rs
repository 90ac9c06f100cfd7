//! P2 at the height of the loop: whatever way a gate fails, the tool does not run and the model is not called.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{DynEvent, Failure, FailureKind, ModelKind};
use serde_json::{Value, json};

use crate::support::{World, assert_whole, calls, done, of_type, play, results, says};

/// Every way a handler can fail to answer, and what the reason says of it.
const FAILURES: [(&str, &str); 13] = [
    ("error", "returned an error"),
    ("panic", "panicked"),
    ("panic at once", "panicked"),
    ("timeout", "timed out"),
    ("not an object", "cannot be understood"),
    ("wrong type", "cannot be understood"),
    ("beyond its capabilities", "capabilities"),
    ("spawn", "could not be started"),
    ("exit", "exited with code 3"),
    ("signal", "killed by signal 9"),
    ("too much output", "wrote too much"),
    ("untrusted", "not trusted"),
    ("gone", "no longer there"),
];

fn fail(way: &'static str) -> impl Fn(DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
    move |_| {
        assert!(way != "panic at once", "before the first await");
        let failed = |kind| Err(Failure::new(kind, ""));
        async move {
            match way {
                "error" => Err(Failure::errored("lost the plot")),
                "panic" => panic!("after the first await"),
                "timeout" => std::future::pending().await,
                "not an object" => Ok(json!("yes, go on")),
                "wrong type" => Ok(json!({"continue": "true"})),
                "beyond its capabilities" => Ok(json!({"output": "I may only block"})),
                "spawn" => failed(FailureKind::Spawn),
                "exit" => failed(FailureKind::Exit(3)),
                "signal" => failed(FailureKind::Signal(9)),
                "too much output" => failed(FailureKind::TooMuchOutput),
                "untrusted" => failed(FailureKind::Untrusted),
                "gone" => failed(FailureKind::Gone),
                other => panic!("there is no failure {other}"),
            }
        }
        .boxed()
    }
}

fn bind(world: &World, point: &str, way: &'static str) {
    let mut registrar = world.hooks.named("guard").deadline(Duration::from_millis(50));
    if way == "beyond its capabilities" {
        registrar = registrar.capabilities(["block"]);
    }
    registrar.register_dyn(point, ModelKind::Gate, fail(way)).unwrap();
}

// P2, R3.2
#[tokio::test(start_paused = true)]
async fn a_tool_does_not_run_when_its_gate_fails_in_any_way() {
    for (way, reason) in FAILURES {
        let command = json!({"command": "touch marker"});
        let world = World::new(json!([calls(&[("t1", "terminal", command)]), says("No.")])).await;
        bind(&world, "tool.pre", way);
        let events = play(&world.agent(), "touch it").await;
        assert!(!world.file("marker").exists(), "{way}: the command ran");
        assert!(of_type(&events, "tool.start").is_empty(), "{way}");
        let blocked = of_type(&events, "hook.blocked");
        assert_eq!(
            (&blocked[0]["point"], &blocked[0]["toolCallId"]),
            (&json!("tool.pre"), &json!("t1"))
        );
        let history = world.history().await;
        assert_whole(&history);
        let (_, failed, said) = &results(&history)[0];
        assert!(*failed && said.contains(reason), "{way}: {said}");
    }
}

// P2
#[tokio::test(start_paused = true)]
async fn the_model_is_not_called_when_the_gate_of_the_prompt_fails_in_any_way() {
    for (way, reason) in FAILURES {
        let world = World::new(json!([says("I should not have been asked.")])).await;
        bind(&world, "user.prompt.submit", way);
        let (text, outcome) = done(&play(&world.agent(), "hello").await);
        assert_eq!(outcome, "refusal", "{way}");
        assert!(text.contains(reason), "{way}: {text}");
        assert!(world.llm.requests().is_empty(), "{way}: the model was called");
        assert!(world.history().await.is_empty(), "{way}");
    }
}

// R3.4: at an advisory point the same failures are told to the model, and the run goes on.
#[tokio::test(start_paused = true)]
async fn at_an_advisory_point_a_failure_is_told_and_stops_nothing() {
    for (way, reason) in FAILURES {
        let world = World::new(json!([says("Hello.")])).await;
        bind(&world, "model.pre", way);
        assert_eq!(done(&play(&world.agent(), "hello").await).1, "end_turn", "{way}");
        let told = world.user_text(0);
        assert!(told.contains(reason) && told.contains("guard"), "{way}: {told}");
    }
}

// P2: a before_tool_call handler that is registered fail-closed blocks when it fails; one that is not does not.
#[tokio::test(start_paused = true)]
async fn a_failing_amender_blocks_only_if_it_is_fail_closed() {
    for closed in [true, false] {
        let command = json!({"command": "touch marker"});
        let world = World::new(json!([calls(&[("t1", "terminal", command)]), says("Ok.")])).await;
        let registrar = world.hooks.named("amender");
        let registrar = if closed { registrar.fail_closed() } else { registrar };
        registrar.register_dyn("before_tool_call", ModelKind::Modifying, fail("error")).unwrap();
        play(&world.agent(), "touch it").await;
        assert_eq!(world.file("marker").exists(), !closed);
    }
}
