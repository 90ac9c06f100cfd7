//! The first moment of a hook: nothing it starts is without its mark, and it does not matter when the host is killed.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use pintle::{
    DynHandler,
    FailureKind::{Exit, Spawn, TimedOut},
    Hooks, ModelKind,
};
use pintle_exec::{CommandHook, CommandSpec};
use serde_json::Value;

use crate::{
    host::{FOLDER, GRABBER, again, folder, runtime, start_again},
    support::{LAG, Profile, SLACK, cx, event, tool_call},
};

/// The processes whose current folder this is, whatever else they have got rid of.
fn standing_in(folder: &Path) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| {
            fs::read_link(format!("/proc/{number}/cwd")).is_ok_and(|cwd| cwd == folder)
        })
        .collect()
}

fn nobody_stays_in(folder: &Path) {
    let deadline = Instant::now() + LAG + SLACK;
    loop {
        let left = standing_in(folder);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "these processes survive: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn a_daemon_that_wipes_its_environment_at_once_does_not_outlive_its_hook() {
    let profile = Profile::new();
    let hide = "exec </dev/null >/dev/null 2>&1; echo >> daemons; exec sleep 300";
    for _ in 0..30 {
        let spec = profile.argv(["setsid", "-f", "env", "-i", "sh", "-c", hide]);
        profile.judge(spec).await.allowed();
    }
    for _ in 0..4 {
        let spec = profile.argv(["setsid", "-f", "env", "-i", "sleep", "300"]);
        profile.judge(spec).await.allowed();
    }
    nobody_stays_in(&profile.path().canonicalize().unwrap()); // P5
}

/// Starts hooks, four at a time, until it is killed.
fn be_a_busy_host_in(folder: &Path) {
    let line = "setsid env -i sleep 300 & sleep 0.001";
    let hook = CommandHook::new(CommandSpec::shell(folder, line).env("PATH", "/usr/bin:/bin"));
    let hooks = Hooks::new();
    hooks.named("busy").register_dyn("tool.pre", ModelKind::Gate, hook).unwrap();
    let context = cx();
    runtime().block_on(async {
        loop {
            join_all((0..4).map(|_| hooks.fire_gate(&context, tool_call))).await;
            fs::write(folder.join("started"), "\n").unwrap();
        }
    });
}

#[test]
fn a_host_that_is_killed_while_it_starts_hooks_leaves_none_behind() {
    if let Some(folder) = folder() {
        return be_a_busy_host_in(&folder);
    }
    for round in 0..20 {
        let profile = Profile::new();
        let test = "a_host_that_is_killed_while_it_starts_hooks_leaves_none_behind";
        let mut host = start_again("start", test, profile.path());
        runtime().block_on(profile.made("started"));
        std::thread::sleep(Duration::from_micros(700 * round));
        host.kill().unwrap();
        host.wait().unwrap();
        nobody_stays_in(&profile.path().canonicalize().unwrap()); // P5
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_many_hooks_that_start_at_once_each_runs_once() {
    let profile = Profile::new();
    let hook = CommandHook::new(profile.shell("echo >> runs"));
    for _ in 0..12 {
        let asked = (0..50).map(|_| {
            let (hook, event) = (hook.clone(), event());
            tokio::spawn(async move { hook.call(event).await })
        });
        for answer in join_all(asked).await {
            assert_eq!(answer.unwrap().unwrap(), Value::Null);
        }
    }
    assert_eq!(fs::read(profile.path().join("runs")).unwrap().len(), 600);
    profile.nobody_left().await; // P5
}

/// Ends at once, which nobody can see: a child of it traces it and does not care.
const TRACED: &str = "import ctypes, os, time
libc, traced = ctypes.CDLL(None), os.getpid()
libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
ours, theirs = os.pipe()
if os.fork() == 0:
    seized = libc.ptrace(0x4206, traced, None, None)
    os.write(theirs, b'%d' % seized)
    for stream in range(3):
        os.close(stream)
    time.sleep(300)
os._exit(0 if os.read(ours, 9) == b'0' else 3)
";

// P5
#[test]
fn a_hook_whose_end_is_hidden_by_a_tracer_does_not_outlast_its_deadline() {
    let profile = Profile::new();
    let spec = profile.argv(["python3", "-c", TRACED]).timeout(Duration::from_secs(3));
    runtime().block_on(async { profile.judge(spec).await.failed(TimedOut) });
}

/// Runs a program as a container does that refuses `unshare`, with a terminal.
const CONTAINER: &str = "import ctypes, os, platform, pty, struct, sys
number = {'x86_64': 272, 'aarch64': 97}[platform.machine()]
load, refuse, allow = (0x20, 0, 0, 0), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)
rules = [load, (0x15, 0, 1, number), refuse, allow]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
assert libc.unshare(0x200) == -1 and ctypes.get_errno() == 1
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
";

#[test]
fn where_a_container_refuses_to_hold_a_process_back_hooks_are_as_safe_but_for_the_first_moment() {
    let test = "where_a_container_refuses_to_hold_a_process_back_hooks_are_as_safe_but_for_the_first_moment";
    if folder().is_none() {
        let mut host = Command::new("python3");
        host.args(["-c", CONTAINER]).args(again("start", test)).env(FOLDER, "any");
        assert!(host.stdin(Stdio::null()).status().unwrap().success());
        return;
    }
    let profile = Profile::new();
    fs::write(profile.path().join("grabber.py"), GRABBER).unwrap();
    runtime().block_on(async {
        let spec = profile.argv(["python3", "grabber.py"]);
        assert_eq!(profile.judge(spec).await.allowed().output(), Some("no terminal"));
        profile.judge(profile.shell("exit 3")).await.failed(Exit(3));
        profile.judge(profile.argv(["./missing"])).await.failed(Spawn);
        let line = "cat >/dev/null; setsid env -i sleep 300 & sleep 300";
        let spec = profile.shell(line).timeout(Duration::from_secs(3));
        profile.judge(spec).await.failed(TimedOut);
    });
    nobody_stays_in(&profile.path().canonicalize().unwrap()); // P5
}
