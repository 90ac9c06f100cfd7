//! Hooks that hang, fork, hide or hold on: the host comes back, and nothing of them stays.

use std::{fs::File, process::Command, time::Duration};

use pintle::{
    FailureKind::{Exit, Signal, Spawn, TimedOut},
    Hooks, ModelKind,
};
use pintle_exec::CommandHook;

use crate::support::{Memory, Profile, cx, tool_call};

const SHORT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn a_sleep_past_the_deadline_blocks_and_its_children_go_too() {
    let profile = Profile::new();
    let line = "sleep 300 & sleep 300 & (sleep 300; sleep 300) & sleep 300";
    let judged = profile.judge(profile.shell(line).timeout(SHORT)).await.failed(TimedOut); // R8.3, R8.4
    assert!(judged.reason().contains("no answer within 700ms"), "{judged:?}");
}

#[tokio::test]
async fn a_daemonised_grandchild_does_not_outlive_a_hook_that_allows() {
    let profile = Profile::new();
    let slow = "setsid sleep 300 >/dev/null 2>&1 </dev/null & sleep 1.5; exit 0";
    profile.judge(profile.shell(slow)).await.allowed(); // P5
    let line = "setsid sh -c 'sleep 300 & echo $! > daemon; sleep 300' >/dev/null 2>&1 </dev/null & \
                while [ ! -s daemon ]; do sleep 0.02; done; exit 0";
    profile.judge(profile.shell(line)).await.allowed(); // P5
    assert!(profile.path().join("daemon").exists());
}

#[tokio::test]
async fn a_daemonised_grandchild_does_not_outlive_a_hook_that_times_out() {
    let profile = Profile::new();
    let line = "setsid sh -c 'sleep 300 & sleep 300' >/dev/null 2>&1 </dev/null & sleep 300";
    profile.judge(profile.shell(line).timeout(SHORT)).await.failed(TimedOut); // P5
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_is_waited_for_only_briefly() {
    let profile = Profile::new();
    let judged = profile.judge(profile.shell("sleep 300 & echo fine")).await.allowed(); // R8.4
    assert_eq!(judged.output(), Some("fine"));
    assert!(judged.took < Duration::from_secs(10), "{judged:?}");
    let judged = profile.judge(profile.shell("setsid sleep 300 & echo no >&2; exit 1")).await;
    assert_eq!(judged.failed(Exit(1)).reason(), "no");
}

#[tokio::test]
async fn a_verdict_that_comes_out_of_a_pipe_a_little_late_is_heard() {
    let profile = Profile::new();
    let line = "exec > >(sleep 0.3; tee log); echo '{\"continue\": false, \"reason\": \"late\"}'";
    let judged = profile.judge(profile.argv(["bash", "-c", line])).await;
    assert_eq!((judged.reason(), judged.kind()), ("late", None)); // R8.2, R8.4
}

#[tokio::test]
async fn an_exit_0_allows_also_when_somebody_holds_stdout_without_a_word() {
    let profile = Profile::new();
    let judged = profile.judge(profile.shell("sleep 300 & exit 0")).await.allowed(); // R8.1, R8.4
    assert!(judged.took < Duration::from_secs(10), "{judged:?}");
}

#[tokio::test]
async fn a_hook_that_stops_itself_blocks_and_is_ended() {
    let profile = Profile::new();
    let line = "sleep 300 & kill -STOP $$; exit 0";
    profile.judge(profile.shell(line).timeout(SHORT)).await.failed(TimedOut); // P5
}

#[tokio::test]
async fn a_hook_that_kills_its_whole_group_hurts_only_itself() {
    let profile = Profile::new();
    profile.judge(profile.shell("kill -9 0")).await.failed(Signal(9));
}

#[tokio::test]
async fn a_hook_that_closes_its_stdin_is_no_failure() {
    let profile = Profile::new();
    let big = serde_json::json!({ "big": "x".repeat(4 * 1024 * 1024) });
    let spec = profile.shell("exec <&-; sleep 0.2; echo fine");
    let call = tool_call().tool_input(big);
    let judged = profile.judge_within(spec.timeout, CommandHook::new(spec), call).await.allowed();
    assert_eq!(judged.output(), Some("fine"));
    profile.judge(profile.argv(["true"])).await.allowed();
}

#[tokio::test]
async fn a_hook_that_closes_all_its_streams_and_sleeps_times_out() {
    let profile = Profile::new();
    let line = "exec <&- >&- 2>&-; sleep 300";
    profile.judge(profile.shell(line).timeout(SHORT)).await.failed(TimedOut);
}

#[tokio::test]
async fn a_hook_that_never_reads_and_never_ends_times_out() {
    let profile = Profile::new();
    let spec = profile.shell("yes >/dev/null").timeout(SHORT);
    profile.judge(spec).await.failed(TimedOut);
}

#[tokio::test]
async fn dropping_the_fire_ends_the_hook() {
    let profile = Profile::new();
    let hooks = Hooks::new();
    let line = "setsid sleep 300 >/dev/null 2>&1 & sleep 300 & touch started; sleep 300";
    hooks.register_dyn("tool.pre", ModelKind::Gate, CommandHook::new(profile.shell(line))).unwrap();
    let context = cx();
    let fire = hooks.fire_gate(&context, tool_call);
    let started = async {
        while !profile.path().join("started").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = fire => panic!("it cannot answer"),
        () = started => {}
    }
    profile.nobody_left().await; // R8.4, R4.11
}

#[test]
fn a_runtime_that_goes_away_takes_the_hook_along() {
    let profile = Profile::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hooks = Hooks::new();
    let line = "trap '' TERM; sleep 300 & touch started; sleep 300";
    hooks.register_dyn("tool.pre", ModelKind::Gate, CommandHook::new(profile.shell(line))).unwrap();
    runtime.spawn(async move {
        let _ = hooks.fire_gate(&cx(), tool_call).await;
    });
    runtime.block_on(async {
        while !profile.path().join("started").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(profile.nobody_left());
}

#[tokio::test]
async fn many_hooks_at_once_do_not_mix() {
    let profile = Profile::new();
    let judged = futures_util::future::join_all((0..16).map(|number| {
        let hook = CommandHook::new(profile.shell(&format!("sleep 0.1; echo {number}")));
        profile.answer_of(hook)
    }));
    for (number, answer) in judged.await.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), serde_json::json!({ "output": number.to_string() }));
    }
    profile.nobody_left().await;
}

/// The test runs itself again under a limit: only that process runs out of file descriptors.
#[test]
fn a_host_without_file_descriptors_blocks_and_recovers() {
    const INNER: &str = "PINTLE_TEST_WITHOUT_DESCRIPTORS";
    if std::env::var_os(INNER).is_none() {
        let test = "command_survival::a_host_without_file_descriptors_blocks_and_recovers";
        let status = Command::new("prlimit")
            .arg("--nofile=64")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(INNER, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let profile = Profile::new();
        let hook = CommandHook::new(profile.shell("exit 0"));
        profile.judge_with(hook.clone()).await.allowed();
        let memory = Memory::now();
        let all: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        let judged = profile.judge_with(hook.clone()).await.failed(Spawn);
        drop(all);
        assert!(judged.reason().contains("Too many open files"), "{judged:?}");
        judged.within(Duration::ZERO);
        memory.stayed_bounded();
        profile.nobody_left().await;
        profile.judge_with(hook).await.allowed();
    });
}
