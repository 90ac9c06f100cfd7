//! What a hook can do to its host, and what stays of it when the host is gone. The tests run themselves again: as a host
//! that is killed, that is part of a hook itself, or that has a terminal.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use pintle::{
    FailureKind::{Exit, Signal, Spawn, TimedOut},
    Hooks, ModelKind,
};
use pintle_exec::{CommandHook, CommandSpec, Worker, WorkerSpec};
use serde_json::json;

use crate::support::{Profile, cx, tool_call};

/// In the environment of a test that is run as a host: the folder it works in.
pub(crate) const FOLDER: &str = "PINTLE_TEST_HOST_IN";

pub(crate) fn folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// The command line that runs a test again.
pub(crate) fn again(module: &str, test: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_string();
    vec![program, "--exact".into(), format!("{module}::{test}"), "--nocapture".into()]
}

/// Starts a test again, as a host that works in this folder.
pub(crate) fn start_again(module: &str, test: &str, folder: &Path) -> Child {
    let argv = again(module, test);
    let mut host = Command::new(&argv[0]);
    host.args(&argv[1..]).env(FOLDER, folder).stdout(Stdio::null()).spawn().unwrap()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
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
    let mut host =
        start_again("host", "a_host_that_is_killed_takes_its_hooks_along", profile.path());
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
    let argv =
        again("host", "a_host_that_is_part_of_a_hook_takes_its_own_hooks_along_when_that_is_ended");
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
pub(crate) const GRABBER: &str = "import os, signal, sys
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

/// Whether this is the test as a host with a terminal. If not, it is run again as one, and has to succeed.
fn has_a_terminal(test: &str) -> bool {
    if folder().is_some() {
        assert!(fs::File::open("/dev/tty").is_ok(), "or this test would show nothing");
        return true;
    }
    let run = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let status = Command::new("python3")
        .args(["-c", run])
        .args(again("host", test))
        .env(FOLDER, "any")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    false
}

#[test]
fn a_hook_cannot_take_the_hosts_terminal() {
    if !has_a_terminal("a_hook_cannot_take_the_hosts_terminal") {
        return;
    }
    let profile = Profile::new();
    fs::write(profile.path().join("grabber.py"), GRABBER).unwrap();
    profile.script("grabber", &format!("#!/usr/bin/env python3\n{GRABBER}"));
    // Its interpreter is a script itself.
    profile.script("python", "#!/bin/sh\nexec python3 \"$@\"\n");
    let python = profile.path().join("python");
    profile.script("nested", &format!("#!{}\n{GRABBER}", python.display()));
    runtime().block_on(async {
        let line = "exec python3 grabber.py";
        for spec in [
            profile.argv(["python3", "grabber.py"]),
            profile.argv(["./grabber"]),
            profile.argv(["./nested"]),
            profile.shell(line),
        ] {
            let judged = profile.judge(spec).await.allowed();
            assert_eq!(judged.output(), Some("no terminal"));
        }
        let worker =
            Worker::new(WorkerSpec::new(profile.argv(["python3", "grabber.py", "worker"])));
        let answer = profile.ask(&worker, json!({})).await.unwrap();
        assert_eq!(answer["output"], "no terminal");
        worker.shutdown().await;
        profile.nobody_left().await;
    });
}

#[test]
fn at_a_terminal_a_hook_that_cannot_be_started_fails_as_it_does_elsewhere() {
    if !has_a_terminal("at_a_terminal_a_hook_that_cannot_be_started_fails_as_it_does_elsewhere") {
        return;
    }
    let profile = Profile::new();
    profile.script("no-interpreter", "#!/opt/no/such/python\n");
    profile.script("dos", "#!/bin/sh\r\nexit 0\r\n");
    profile.script("no-first-line", "exit 0\n");
    let interpreter = profile.script("empty", "");
    profile.script("empty-interpreter", &format!("#!{}\nexit 0\n", interpreter.display()));
    let interpreter = profile.path().join("circle");
    profile.script("circle", &format!("#!{}\nexit 0\n", interpreter.display()));
    fs::write(profile.path().join("no-run-bit"), "#!/bin/sh\n").unwrap();
    fs::create_dir(profile.path().join("folder")).unwrap();
    let mut no_folder = profile.shell("exit 0");
    no_folder.profile_dir = "/no/such/folder".into();
    runtime().block_on(async {
        for (spec, words) in [
            (profile.argv(["./missing"]), "there is no file"),
            (profile.argv(["--help"]), "on the PATH"),
            (profile.argv(["./no-interpreter"]), "interpreter"),
            (profile.argv(["./dos"]), "interpreter"),
            (profile.argv(["./no-first-line"]), "#!/bin/sh"),
            (profile.argv(["./empty"]), "#!/bin/sh"),
            (profile.argv(["./empty-interpreter"]), "#!/bin/sh"),
            (profile.argv(["./circle"]), "symbolic links"),
            (profile.argv(["./no-run-bit"]), "chmod +x"),
            (profile.argv(["./folder"]), "denied"),
            (profile.argv(["sh", "nul\0byte"]), "nul byte"),
            (no_folder, "/no/such/folder"),
        ] {
            let judged = profile.judge(spec).await.failed(Spawn);
            assert!(judged.reason().contains(words), "{judged:?}");
        }
        profile.judge(profile.shell("exit 126")).await.failed(Exit(126));
        profile.judge(profile.shell("kill -9 $$")).await.failed(Signal(9));
    });
}

#[test]
fn at_a_terminal_nothing_of_a_hook_outlives_its_deadline() {
    if !has_a_terminal("at_a_terminal_nothing_of_a_hook_outlives_its_deadline") {
        return;
    }
    let profile = Profile::new();
    runtime().block_on(async {
        let line = "sleep 300 & setsid sleep 300 & trap '' TERM; \
                    env -i sh -c 'echo $$ >> left; exec sleep 300' & \
                    cat >/dev/null; while :; do sleep 300; done";
        let spec = profile.shell(line).timeout(Duration::from_secs(3));
        profile.judge(spec).await.failed(TimedOut); // P5
        profile.gone("left").await;
        // Also when that comes before the program itself has begun.
        for _ in 0..20 {
            let spec = profile.shell("sleep 300 & sleep 300").timeout(Duration::ZERO);
            profile.judge(spec).await.failed(TimedOut);
        }
    });
}
