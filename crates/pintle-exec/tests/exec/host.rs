//! What a hook can do to its host, and what stays of it when the host is gone. The tests run themselves again: as a host
//! that is killed, that is part of a hook itself, or that has a terminal.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use pintle::{
    FailureKind::{Spawn, TimedOut},
    Hooks, ModelKind,
};
use pintle_exec::{CommandHook, CommandSpec, Worker, WorkerSpec};
use serde_json::json;

use crate::support::{Profile, cx, tool_call};

/// In the environment of a test that is run as a host: the folder it works in.
const FOLDER: &str = "PINTLE_TEST_HOST_IN";

fn folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// The command line that runs a test of this file again.
fn again(test: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_string();
    vec![program, "--exact".into(), format!("host::{test}"), "--nocapture".into()]
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A host with a hook that leaves two daemons, one of them with a wiped environment, and never ends.
fn be_a_host_in(folder: &Path) {
    let daemon = |prefix: &str| {
        format!("{prefix} sh -c 'echo $$ >> daemons; exec sleep 300' >/dev/null 2>&1 </dev/null & ")
    };
    let line = format!(
        "cat >/dev/null; {}{}\
         while [ \"$(wc -l < daemons)\" -lt 2 ]; do sleep 0.02; done; echo $$ >> daemons; \
         echo > started; sleep 300",
        daemon("setsid"),
        daemon("setsid env -i")
    );
    let spec = CommandSpec::shell(folder, format!("touch daemons; {line}"))
        .env("PATH", "/usr/bin:/bin")
        .timeout(Duration::from_secs(300));
    let hooks = Hooks::new();
    let patient = hooks.options().deadline(Duration::from_secs(300));
    patient.register_dyn("tool.pre", ModelKind::Gate, CommandHook::new(spec)).unwrap();
    let _ = runtime().block_on(hooks.fire_gate(&cx(), tool_call));
}

#[test]
fn a_host_that_is_killed_takes_its_hooks_along() {
    if let Some(folder) = folder() {
        return be_a_host_in(&folder);
    }
    let profile = Profile::new();
    let argv = again("a_host_that_is_killed_takes_its_hooks_along");
    let mut host = Command::new(&argv[0])
        .args(&argv[1..])
        .env(FOLDER, profile.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    runtime().block_on(async {
        profile.made("started").await;
        host.kill().unwrap();
        host.wait().unwrap();
        profile.gone("daemons").await; // P5
    });
}

#[test]
fn a_host_that_is_part_of_a_hook_takes_its_own_hooks_along_when_that_is_ended() {
    if let Some(folder) = folder() {
        return be_a_host_in(&folder);
    }
    let profile = Profile::new();
    let inner = tempfile::tempdir_in(profile.path()).unwrap();
    let argv = again("a_host_that_is_part_of_a_hook_takes_its_own_hooks_along_when_that_is_ended");
    // Ignores being asked, so that it ends without a chance to clean up.
    let line = format!("trap '' TERM; {}", argv.join(" "));
    let spec = profile.shell(&line).env(FOLDER, inner.path()).timeout(Duration::from_secs(6));
    runtime().block_on(async {
        profile.judge(spec).await.failed(TimedOut);
        let file = inner.path().file_name().unwrap().to_str().unwrap();
        profile.gone(&format!("{file}/daemons")).await; // P5
    });
}

/// Tries to take the terminal, and tells what came of it.
const GRABBER: &str = "import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
leads = os.getpid() == os.getpgrp() == os.getsid(0)
try:
    terminal = os.open('/dev/tty', os.O_RDWR)
    os.tcsetpgrp(terminal, os.getpgrp())
    told = 'grabbed'
except OSError as error:
    told = 'no terminal' if leads else 'no session: %s' % error
if sys.argv[1:]:
    import json
    told = json.dumps({'id': json.loads(sys.stdin.readline())['id'], 'result': {'output': told}})
print(told, flush=True)
sys.stdin.readline()
";

#[test]
fn a_hook_cannot_take_the_hosts_terminal() {
    const TEST: &str = "a_hook_cannot_take_the_hosts_terminal";
    let profile = Profile::new();
    if folder().is_none() {
        let run =
            "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        let status = Command::new("python3")
            .args(["-c", run])
            .args(again(TEST))
            .env(FOLDER, profile.path())
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    assert!(fs::File::open("/dev/tty").is_ok(), "or this test would show nothing");
    fs::write(profile.path().join("grabber.py"), GRABBER).unwrap();
    runtime().block_on(async {
        let judged = profile.judge(profile.argv(["python3", "grabber.py"])).await.allowed();
        assert_eq!(judged.output(), Some("no terminal"));
        // What cannot be started is told apart as it is without a terminal.
        let judged = profile.judge(profile.argv(["./nowhere.sh"])).await.failed(Spawn);
        assert!(judged.reason().contains("there is no file"), "{judged:?}");
        let worker =
            Worker::new(WorkerSpec::new(profile.argv(["python3", "grabber.py", "worker"])));
        let answer = profile.ask(&worker, json!({})).await.unwrap();
        assert_eq!(answer["output"], "no terminal");
        worker.shutdown().await;
        profile.nobody_left().await;
    });
}
