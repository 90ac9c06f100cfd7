//! Asking a person, as the loop does it (R11.4, R11.5); and P3: what was approved is what runs.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{
    Event, Verdict,
    points::{BeforeToolCall, ToolCallPatch, ToolPre},
};
use pintle_agent::{
    ApprovalOutcome, ApprovalRequest, Approver, Claim, Intercepted, Interceptors, Prepared,
    StandingRule, args_hash,
};
use pintle_policy::Level;
use serde_json::json;

use crate::support::{Swamp, World, calls, done, of_type, play, results, says};

/// Gives one answer, and keeps what it was asked.
struct Fixed {
    answer: ApprovalOutcome,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Fixed {
    fn new(answer: ApprovalOutcome) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }
}

impl Approver for Fixed {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        self.asked.lock().unwrap().push(request);
        std::future::ready(self.answer.clone()).boxed()
    }
}

async fn world() -> World {
    let touch = calls(&[("t1", "terminal", json!({"command": "echo one > marker"}))]);
    let mut world = World::new(json!([touch, says("Done.")])).await;
    world.policy.level = Level::Strict;
    world
}

fn yes() -> ApprovalOutcome {
    ApprovalOutcome::Approved { by: "ann".into() }
}

// R11.5
#[tokio::test(start_paused = true)]
async fn outcomes_are_distinct_and_all_but_approved_block() {
    let denied = |reason: Option<&str>| ApprovalOutcome::Denied {
        by: "bob".into(),
        reason: reason.map(Into::into),
    };
    for (answer, runs, name, words) in [
        (yes(), true, "approved", ""),
        (
            denied(Some("use git instead")),
            false,
            "denied",
            "bob said no: use git instead (asked because: it runs a program",
        ),
        (denied(None), false, "denied", "bob said no (asked because: it runs a program"),
        (ApprovalOutcome::Expired, false, "expired", "did not answer in time"),
        (ApprovalOutcome::Cancelled, false, "cancelled", "withdrawn"),
        (ApprovalOutcome::NoOneToAsk, false, "no_one_to_ask", "there is no one to ask"),
    ] {
        let world = world().await;
        let agent = world.builder().approver(Fixed::new(answer)).build().unwrap();
        let events = play(&agent, "touch it").await;
        assert_eq!(world.file("marker").exists(), runs, "{name}");
        assert_eq!(of_type(&events, "approval.requested").len(), 1);
        assert_eq!(of_type(&events, "approval.resolved")[0]["outcome"], name);
        let (_, failed, said) = &results(&world.history().await)[0];
        assert_eq!(*failed, !runs, "{name}");
        assert!(said.contains(words), "{name}: {said}");
    }
}

// R11.5: without an approver there is no one to ask, and the run says so at once.
#[tokio::test(start_paused = true)]
async fn an_agent_with_no_approver_denies_what_needs_one() {
    let world = world().await;
    let events = play(&world.agent(), "touch it").await;
    assert_eq!(of_type(&events, "approval.resolved")[0]["outcome"], "no_one_to_ask");
    assert!(!world.file("marker").exists());
    assert_eq!(done(&events).1, "end_turn");
}

// P2: an approver that panics denies this call, at each of its steps, and the run goes on.
#[tokio::test(start_paused = true)]
async fn an_approver_that_panics_denies_the_call_and_the_run_goes_on() {
    struct Panics(&'static str);
    impl Approver for Panics {
        fn rules(&self, _: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
            assert!(self.0 != "rules", "a test's panic");
            std::future::ready(Vec::new()).boxed()
        }
        fn prepare<'a>(&'a self, _: &'a Claim, _: &'a ApprovalRequest) -> BoxFuture<'a, Prepared> {
            assert!(self.0 != "prepare", "a test's panic");
            std::future::ready(Prepared::Ask).boxed()
        }
        fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
            async { panic!("a test's panic") }.boxed()
        }
    }
    for step in ["rules", "prepare", "ask"] {
        let world = world().await;
        let agent = world.builder().approver(Arc::new(Panics(step))).build().unwrap();
        let events = play(&agent, "touch it").await;
        assert!(!world.file("marker").exists(), "{step}");
        assert_eq!(done(&events), ("Done.".into(), "end_turn".into()), "{step}");
        let resolved = of_type(&events, "approval.resolved").len();
        assert_eq!(resolved, of_type(&events, "approval.requested").len(), "{step}");
        assert!(results(&world.history().await)[0].2.contains("it panicked"), "{step}");
    }
}

// R11.4: a question lapses, whatever the approver does.
#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_expires() {
    struct Silent(Swamp);
    impl Approver for Silent {
        fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
            self.0.stuck()
        }
    }
    let mut world = world().await;
    world.policy.approval_timeout = Duration::from_millis(50);
    let swamp = Swamp::default();
    let agent = world.builder().approver(Arc::new(Silent(swamp.clone()))).build().unwrap();
    let events = play(&agent, "touch it").await;
    assert_eq!(of_type(&events, "approval.resolved")[0]["outcome"], "expired");
    assert!(swamp.left());
    assert!(!world.file("marker").exists());
}

// R11.4: what was answered in time is in time, however late the run hears of it.
#[tokio::test]
async fn a_yes_that_came_in_time_counts_when_it_is_heard_late() {
    struct SlowToTell;
    impl Approver for SlowToTell {
        fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
            async move {
                let lapses = std::time::UNIX_EPOCH + Duration::from_millis(request.expires_at);
                while std::time::SystemTime::now() <= lapses + Duration::from_millis(5) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                yes()
            }
            .boxed()
        }
    }
    let mut world = world().await;
    world.policy.approval_timeout = Duration::from_millis(50);
    let agent = world.builder().approver(Arc::new(SlowToTell)).build().unwrap();
    let events = play(&agent, "touch it").await;
    assert_eq!(of_type(&events, "approval.resolved")[0]["outcome"], "approved");
    assert!(world.file("marker").exists());
}

// Step 10: nobody is asked about a call that could not run.
#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_call_that_a_gate_blocks() {
    let world = world().await;
    world.hooks.register_gate(|_: Event<ToolPre>| async { Verdict::block("no") }).unwrap();
    let approver = Fixed::new(yes());
    let agent = world.builder().approver(approver.clone()).build().unwrap();
    play(&agent, "touch it").await;
    assert!(approver.asked.lock().unwrap().is_empty());
    assert!(!world.file("marker").exists());
}

// P3, R11.4: the person sees the final arguments, and those run.
#[tokio::test(start_paused = true)]
async fn what_was_approved_is_what_runs() {
    let world = world().await;
    let amend = |e: Event<BeforeToolCall>| async move {
        let command = format!("{}; echo three >> marker", e.args["command"].as_str().unwrap());
        Some(ToolCallPatch::default().args(json!({ "command": command })))
    };
    world.hooks.register_modifying(amend).unwrap();
    let interceptors = Interceptors::default()
        .before("two", "terminal", |call| async move {
            let command = format!("{}; echo two >> marker", call.args["command"].as_str().unwrap());
            Ok(Intercepted::Rewrite(json!({ "command": command })))
        })
        .unwrap();
    let approver = Fixed::new(yes());
    let agent =
        world.builder().approver(approver.clone()).interceptors(interceptors).build().unwrap();
    let events = play(&agent, "touch it").await;

    let asked = approver.asked.lock().unwrap()[0].clone();
    let last = json!({"command": "echo one > marker; echo two >> marker; echo three >> marker"});
    assert_eq!(asked.args, last);
    assert_eq!(asked.args_hash, args_hash(&last));
    assert_eq!(std::fs::read_to_string(world.file("marker")).unwrap(), "one\ntwo\nthree\n");
    let requested = of_type(&events, "approval.requested")[0];
    assert_eq!((&requested["args"], &requested["argsHash"]), (&last, &json!(asked.args_hash)));
    assert_eq!(of_type(&events, "tool.start")[0]["args"], last);
}

// A gate may ask instead of blocking: then a person decides, after every gate had its say.
#[tokio::test(start_paused = true)]
async fn a_gate_can_ask_for_a_call_that_would_run_by_itself() {
    let denied = ApprovalOutcome::Denied { by: "bob".into(), reason: None };
    for (answer, runs) in [(yes(), true), (denied, false)] {
        let write = calls(&[("t1", "write_file", json!({"path": "marker", "content": "x"}))]);
        let world = World::new(json!([write, says("Done.")])).await;
        world
            .hooks
            .named("money")
            .register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "it costs money"))
            .unwrap();
        world
            .hooks
            .named("time")
            .register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "it takes time"))
            .unwrap();
        let approver = Fixed::new(answer);
        let agent = world.builder().approver(approver.clone()).build().unwrap();
        play(&agent, "write").await;
        let asked = approver.asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "a person is asked once");
        assert_eq!(asked[0].reason, "it costs money; it takes time");
        assert_eq!(world.file("marker").exists(), runs);
    }
}

// A question is no permission: a later gate's block stands, and nobody is asked.
#[tokio::test(start_paused = true)]
async fn a_block_outweighs_a_question() {
    let world = world().await;
    world
        .hooks
        .named("ask")
        .priority(1)
        .register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "really?"))
        .unwrap();
    world
        .hooks
        .named("no")
        .register_gate(|_: Event<ToolPre>| async { Verdict::block("no") })
        .unwrap();
    let approver = Fixed::new(yes());
    let agent = world.builder().approver(approver.clone()).build().unwrap();
    play(&agent, "touch it").await;
    assert!(approver.asked.lock().unwrap().is_empty());
    assert!(!world.file("marker").exists());
}
