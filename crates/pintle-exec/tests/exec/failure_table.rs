//! No way to fail lets a gated tool run (P2).

use std::time::Duration;

use pintle::{DynEvent, DynHandler, Failure, FailureKind, Hooks, ModelKind};
use pintle_exec::{CommandHook, CommandSpec, Worker, WorkerSpec};
use serde_json::Value;

use crate::support::{Profile, cx, tool_call};

#[tokio::test]
async fn no_failure_of_a_command_lets_the_tool_run() {
    let profile = Profile::new();
    let short = Duration::from_millis(500);
    profile.script("no-interpreter", "#!/no/such/thing\n");
    std::fs::write(profile.path().join("no-run-bit"), "#!/bin/sh\n").unwrap();
    let mut no_folder = profile.shell("exit 0");
    no_folder.profile_dir = "/no/such/folder".into();
    let table: Vec<(CommandSpec, FailureKind)> = vec![
        (profile.argv(["./missing"]), FailureKind::Spawn),
        (profile.argv(["./no-interpreter"]), FailureKind::Spawn),
        (profile.argv(["./no-run-bit"]), FailureKind::Spawn),
        (profile.argv(["nul\0byte"]), FailureKind::Spawn),
        (no_folder, FailureKind::Spawn),
        (profile.shell("exit 1"), FailureKind::Exit(1)),
        (profile.shell("exit 2"), FailureKind::Exit(2)),
        (profile.shell("./missing"), FailureKind::Exit(127)),
        (profile.shell("kill -9 $$"), FailureKind::Signal(9)),
        (profile.shell("echo '{\"continue\": tru'"), FailureKind::BadOutput),
        (profile.shell("echo '{\"continue\": \"false\"}'"), FailureKind::BadOutput),
        (profile.shell("echo '{\"verdict\": \"allow\"}'"), FailureKind::BadOutput),
        (profile.shell("echo '{\"decision\": \"maybe\"}'"), FailureKind::BadOutput),
        (
            profile.shell("echo '{\"decision\": \"allow\", \"updatedInput\": {}}'"),
            FailureKind::BadOutput,
        ),
        (profile.shell("cat /dev/zero"), FailureKind::TooMuchOutput),
        (profile.shell("cat /dev/zero >&2"), FailureKind::TooMuchOutput),
        (profile.shell("sleep 300").timeout(short), FailureKind::TimedOut),
        (profile.shell("kill -STOP $$").timeout(short), FailureKind::TimedOut),
        (
            profile.shell("echo '{\"continue\": true}'; sleep 300").timeout(short),
            FailureKind::TimedOut,
        ),
        (profile.shell("echo '{\"continue\": true}'; exit 1"), FailureKind::Exit(1)),
        (profile.shell("echo '{\"decision\": \"approve\"}'; exit 1"), FailureKind::Exit(1)),
    ];
    for (spec, kind) in table {
        let judged = profile.judge(spec).await.failed(kind);
        assert!(!judged.reason().is_empty());
    }
}

#[tokio::test]
async fn no_failure_of_a_worker_lets_the_tool_run() {
    for (trick, kind) in [
        ("wrong id", FailureKind::TimedOut),
        ("garbage", FailureKind::BadOutput),
        ("wrong type", FailureKind::BadOutput),
        ("unknown answer", FailureKind::BadOutput),
        ("rewrite", FailureKind::BadOutput),
        ("error", FailureKind::Errored),
        ("long line", FailureKind::TooMuchOutput),
        ("flood", FailureKind::TooMuchOutput),
        ("ready flood", FailureKind::BadOutput),
        ("stderr flood", FailureKind::TooMuchOutput),
        ("die", FailureKind::Gone),
        ("close stdout", FailureKind::Gone),
        ("silence", FailureKind::TimedOut),
        ("stop", FailureKind::TimedOut),
    ] {
        let profile = Profile::new();
        let mut spec = profile.odd_spec(&[]);
        if kind == FailureKind::TimedOut {
            spec.process.timeout = Duration::from_secs(3);
        }
        let timeout = spec.process.timeout;
        let handler = Tricked { worker: Worker::new(spec), trick };
        profile.judge_within(timeout, handler, tool_call()).await.failed(kind);
    }
}

// §14: a program that does not answer is not started again and again, and the tool does not run meanwhile.
#[tokio::test]
async fn a_program_that_times_out_again_and_again_is_not_called_and_its_tool_does_not_run() {
    let profile = Profile::new();
    let short = Duration::from_millis(200);
    let silent = r#"printf x >> starts; echo '{"ready": true, "concurrent": true}'; cat > /dev/null; sleep 300"#;
    let command = CommandHook::new(profile.shell(silent).timeout(short));
    let worker = Worker::new(WorkerSpec::new(profile.shell(silent).timeout(short)));
    let hooks = [Hooks::new(), Hooks::new()];
    hooks[0].named("slow").register_dyn("tool.pre", ModelKind::Gate, command).unwrap();
    hooks[1].named("slow").register_dyn("tool.pre", ModelKind::Gate, worker).unwrap();
    for (hooks, starts) in hooks.iter().zip([3, 1]) {
        let marker = profile.path().join("the-tool-ran");
        let _ = std::fs::remove_file(profile.path().join("starts"));
        let mut reasons = Vec::new();
        for _ in 0..6 {
            match hooks.fire_gate(&cx(), tool_call).await.blocked() {
                Some(block) => reasons.push(block.reason.clone()),
                None => std::fs::write(&marker, "").unwrap(),
            }
        }
        assert!(!marker.exists(), "{reasons:?}");
        let failing: Vec<_> = reasons.iter().map(|it| it.contains("is failing")).collect();
        assert_eq!(failing, [false, false, false, true, true, true], "{reasons:?}");
        assert_eq!(profile.starts(), starts);
    }
}

/// Asks the worker to misbehave, whatever the event is about.
struct Tricked {
    worker: Worker,
    trick: &'static str,
}

impl DynHandler for Tricked {
    fn call(
        &self,
        mut event: DynEvent,
    ) -> futures_util::future::BoxFuture<'static, Result<Value, Failure>> {
        event.json = serde_json::json!({ "toolInput": { "do": self.trick } }).into();
        self.worker.call(event)
    }
}
