//! What a process can do to its host, and what stays of it when the host is gone. The tests run themselves again: as a host
//! that is killed, that is itself supervised, that has a terminal, or that is in a container.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use pintle_sandbox::{Output, Stdin};

use crate::{
    start::whatever_cannot_be_started_says_why,
    support::{Place, command_in, run, start, text, try_start},
};

/// In the environment of a test that is run as a host: the folder it works in.
const FOLDER: &str = "PINTLE_TEST_HOST_IN";

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// The command line that runs a test again.
fn again(test: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_string();
    vec![program, "--exact".into(), format!("host::{test}"), "--nocapture".into()]
}

/// Starts a test again, as a host that works in this place.
fn start_again(test: &str, place: &Place) -> Child {
    let argv = again(test);
    let mut host = Command::new(&argv[0]);
    host.args(&argv[1..]).env(FOLDER, place.path()).stdout(Stdio::null()).spawn().unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A shell that inherits nothing from the test, not even its mark.
fn shell_in(folder: &Path, line: &str) -> pintle_sandbox::Command {
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    pintle_sandbox::Command { env, ..command_in(folder, "/bin/sh", &["-c", line]) }
}

/// A host of a process that leaves two daemons, one of them with a wiped environment, and never ends.
fn be_a_host_in(folder: &Path) {
    let daemon = |prefix: &str| {
        format!("{prefix} sh -c 'echo $$ >> daemons; exec sleep 300' >/dev/null 2>&1 & ")
    };
    let line = format!(
        "touch daemons; {}{}\
         while [ \"$(wc -l < daemons)\" -lt 2 ]; do sleep 0.02; done; echo $$ >> daemons; \
         echo > started; sleep 300",
        daemon("setsid"),
        daemon("setsid env -i")
    );
    runtime().block_on(run(&shell_in(folder, &line)));
}

#[test]
fn a_host_that_is_killed_takes_its_processes_along() {
    if let Some(folder) = folder() {
        return be_a_host_in(&folder);
    }
    let place = Place::new();
    let mut host = start_again("a_host_that_is_killed_takes_its_processes_along", &place);
    runtime().block_on(async {
        place.made("started").await;
        host.kill().unwrap();
        host.wait().unwrap();
        place.gone("daemons").await; // P5
    });
}

#[test]
fn a_host_that_is_itself_supervised_takes_its_processes_along() {
    if let Some(folder) = folder() {
        return be_a_host_in(&folder);
    }
    let place = Place::new();
    let argv = again("a_host_that_is_itself_supervised_takes_its_processes_along");
    // Ignores TERM, so that it ends without a chance to clean up.
    let mut command = place.shell(&format!("trap '' TERM; {}", argv.join(" ")));
    command.env.push((FOLDER.into(), place.path().into()));
    runtime().block_on(async {
        let (process, _streams) = start(&command);
        place.made("started").await;
        process.end().await;
        place.gone("daemons").await; // P5
    });
}

/// Starts processes, four at a time, until it is killed.
fn be_a_busy_host_in(folder: &Path) {
    let command = shell_in(folder, "setsid env -i sleep 300 & sleep 0.001");
    runtime().block_on(async {
        loop {
            let four = [(); 4].map(|()| run(&command));
            let [a, b, c, d] = four;
            tokio::join!(a, b, c, d);
            fs::write(folder.join("started"), "\n").unwrap();
        }
    });
}

#[test]
fn a_host_that_is_killed_while_it_starts_processes_leaves_none_behind() {
    if let Some(folder) = folder() {
        return be_a_busy_host_in(&folder);
    }
    for round in 0..20 {
        let place = Place::new();
        let test = "a_host_that_is_killed_while_it_starts_processes_leaves_none_behind";
        let mut host = start_again(test, &place);
        runtime().block_on(async {
            place.made("started").await;
            std::thread::sleep(Duration::from_micros(700 * round));
            host.kill().unwrap();
            host.wait().unwrap();
            place.nothing_stays().await; // P5
        });
    }
}

/// Runs a program with a terminal.
const TERMINAL: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

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

/// Whether this is the test as a host in these surroundings. If not, it is run again as one, and has to succeed.
fn is_within(surroundings: &str, test: &str) -> bool {
    if folder().is_some() {
        assert!(fs::File::open("/dev/tty").is_ok(), "or this test would show nothing");
        return true;
    }
    let mut host = Command::new("python3");
    host.args(["-c", surroundings]).args(again(test)).env(FOLDER, "any");
    assert!(host.stdin(Stdio::null()).status().unwrap().success());
    false
}

/// Tries to take the terminal, and says what came of it.
const GRABBER: &str = "import os, signal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
leads = os.getpid() == os.getpgrp() == os.getsid(0)
try:
    terminal = os.open('/dev/tty', os.O_RDWR)
    os.tcsetpgrp(terminal, os.getpgrp())
    print('grabbed')
except OSError as error:
    print('no terminal' if leads else 'no session: %s' % error)
";

async fn nothing_takes_the_terminal(place: &Place) {
    let grabber = place.script("grabber", &format!("#!/usr/bin/env python3\n{GRABBER}"));
    // Its interpreter is a script itself.
    let python = place.script("python", "#!/bin/sh\nexec python3 \"$@\"\n");
    let nested = place.script("nested", &format!("#!{}\n{GRABBER}", python.display()));
    for (mut command, output) in [
        (place.command("/usr/bin/python3", &["-c", GRABBER]), Output::Separate),
        (place.command(grabber, &[]), Output::Merged),
        (place.command(nested, &[]), Output::Separate),
        (place.shell("exec ./grabber"), Output::Merged),
    ] {
        command.output = output;
        assert_eq!(run(&command).await, "no terminal\n");
    }
}

/// Something of everything, also a daemon without an environment, and then its end.
async fn nothing_outlives_its_end(place: &Place) {
    // Its input is read first: by then it carries its tag, also where it could not be paused.
    let line = "cat >/dev/null; sleep 300 & setsid sleep 300 & trap '' TERM; \
                setsid env -i sh -c 'echo $$ >> left; exec sleep 300' & \
                while [ ! -s left ]; do sleep 0.02; done; echo ready; while :; do sleep 300; done";
    let mut command = place.shell(&format!("touch left; {line}"));
    command.stdin = Stdin::Piped;
    let (process, mut streams) = start(&command);
    drop(streams.stdin.take());
    place.made("left").await;
    process.end().await;
    place.gone("left").await; // P5
    place.nothing_left().await;
}

#[test]
fn at_a_terminal_no_process_takes_it_and_all_else_is_as_elsewhere() {
    if !is_within(TERMINAL, "at_a_terminal_no_process_takes_it_and_all_else_is_as_elsewhere") {
        return;
    }
    let place = Place::new();
    runtime().block_on(async {
        nothing_takes_the_terminal(&place).await;
        whatever_cannot_be_started_says_why(&place).await;
        nothing_outlives_its_end(&place).await;
    });
}

#[test]
fn where_a_container_refuses_to_pause_a_process_all_but_the_first_moment_is_as_elsewhere() {
    let test =
        "where_a_container_refuses_to_pause_a_process_all_but_the_first_moment_is_as_elsewhere";
    if !is_within(CONTAINER, test) {
        return;
    }
    let place = Place::new();
    runtime().block_on(async {
        nothing_takes_the_terminal(&place).await;
        whatever_cannot_be_started_says_why(&place).await;
        nothing_outlives_its_end(&place).await;
    });
}

/// Only the process that runs itself again, under a limit, runs out of file descriptors.
#[test]
fn a_host_without_file_descriptors_starts_nothing_and_recovers() {
    if folder().is_none() {
        let status = Command::new("prlimit")
            .arg("--nofile=64")
            .args(again("a_host_without_file_descriptors_starts_nothing_and_recovers"))
            .env(FOLDER, "any")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let place = Place::new();
    let command = place.shell("echo fine");
    runtime().block_on(async {
        assert_eq!(run(&command).await, "fine\n");
        // Whatever step of a start runs out of them, nothing is started.
        for spare in 0..64 {
            let open = || fs::File::open("/dev/null").ok();
            let mut all: Vec<fs::File> = std::iter::from_fn(open).collect();
            all.truncate(all.len().saturating_sub(spare));
            let started = try_start(&command);
            drop(all);
            match started {
                Ok((process, streams)) => {
                    assert!(spare > 3, "three pipes need more than that");
                    assert_eq!(text(streams.stdout).await, "fine\n");
                    process.end().await;
                    break;
                }
                Err(error) => assert!(error.to_string().contains("Too many open files"), "{error}"),
            }
            place.nothing_left().await;
        }
        assert_eq!(run(&command).await, "fine\n");
    });
}
