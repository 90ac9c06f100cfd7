//! Processes that hang, fork, hide or hold on: nothing of them stays (P5, R8.4, R8.8).

use std::{fs, path::Path, time::Duration};

use pintle_sandbox::{Process, Stdin, Streams};
use tokio::time::timeout;

use crate::support::{LAG, Place, is_alive, start};

/// Starts a line, and waits until it has written a line to `up`.
async fn up(place: &Place, line: &str) -> (Process, Streams) {
    let started = start(&place.shell(line));
    place.made("up").await;
    started
}

#[tokio::test]
async fn waiting_leaves_the_rest_alone_and_its_end_takes_all_along() {
    let place = Place::new();
    let (mut process, _streams) = up(&place, "sleep 300 & echo $! > up").await;
    let leader = format!("/proc/{}", process.id().unwrap());
    assert!(process.wait().await.unwrap().success());
    assert!(place.pids_in("up").iter().all(|pid| is_alive(*pid)));
    // Otherwise the PID, which is the group's too, could be a stranger's by now.
    assert!(Path::new(&leader).exists(), "the group can still be signalled");
    process.exited().await;
    assert!(!Path::new(&leader).exists(), "no zombie is left");
    place.nothing_left().await;
}

#[tokio::test]
async fn a_process_that_ignores_term_is_killed_with_its_children() {
    let place = Place::new();
    let line =
        "trap '' TERM; sleep 300 & (sleep 300; sleep 300) & echo > up; while :; do sleep 1; done";
    let (process, _streams) = up(&place, line).await;
    process.end().await;
    place.nothing_left().await;
}

#[tokio::test]
async fn a_process_that_acts_on_term_has_time_to_clean_up_and_to_say_so() {
    let place = Place::new();
    let line =
        "trap 'echo bye; echo > cleaned; exit 0' TERM; echo > up; while :; do sleep 0.02; done";
    // The host does not read any more: the process must not die of SIGPIPE.
    drop(up(&place, line).await);
    place.made("cleaned").await;
    place.nothing_left().await;
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_may_do_so_in_its_own_time() {
    let place = Place::new();
    let line = "trap 'sleep 1; exit 4' TERM; echo > up; while :; do sleep 0.02; done";
    let (mut process, _streams) = up(&place, line).await;
    process.terminate();
    assert_eq!(process.wait().await.unwrap().code(), Some(4));
    process.exited().await;
    place.nothing_left().await;
}

#[tokio::test]
async fn a_process_that_stops_itself_is_ended_and_may_clean_up() {
    for trap in ["", "trap '' TERM; "] {
        let place = Place::new();
        let line = format!("{trap}sleep 300 & echo > up; while :; do kill -STOP $$; done");
        drop(up(&place, &line).await);
        place.nothing_left().await;
    }
    let place = Place::new();
    let line = "trap 'echo > cleaned; exit' TERM; echo > up; while :; do kill -STOP $$; done";
    drop(up(&place, line).await);
    place.made("cleaned").await;
}

#[tokio::test]
async fn a_fork_bomb_is_ended_as_a_whole() {
    let place = Place::new();
    // Bounded: seven generations of two, 254 processes.
    let line =
        "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; echo > up; sleep 300; }; f 7";
    let (process, _streams) = up(&place, line).await;
    process.end().await;
    place.nothing_left().await;
}

#[tokio::test]
async fn a_fork_bomb_of_daemons_is_ended_as_a_whole() {
    let place = Place::new();
    let line = "i=0; while [ $i -lt 60 ]; do setsid sh -c 'sleep 300 & sleep 300' >/dev/null 2>&1 & \
                i=$((i+1)); echo > up; done; wait";
    let (process, _streams) = up(&place, line).await;
    process.end().await;
    place.nothing_left().await;
}

/// Leaves two daemons that write their PIDs to `up`, one of them without an environment.
const DAEMONS: &str = "setsid sh -c 'echo $$ >> up; exec sleep 300' >/dev/null 2>&1 & \
    setsid env -i sh -c 'echo $$ >> up; exec sleep 300' >/dev/null 2>&1 & \
    while [ \"$(cat up | wc -l)\" -lt 2 ]; do sleep 0.02; done; ";

#[tokio::test]
async fn a_daemon_does_not_outlive_a_process_that_exits() {
    // Soon after the start only a few PIDs are looked at, later all of the machine.
    for wait in ["", "sleep 1.5"] {
        let place = Place::new();
        let (mut process, _streams) = start(&place.shell(&format!("touch up; {DAEMONS}{wait}")));
        assert!(process.wait().await.unwrap().success());
        process.exited().await;
        place.gone("up").await;
    }
}

#[tokio::test]
async fn a_daemon_does_not_outlive_a_process_that_is_ended_or_dropped() {
    for wait in [false, true] {
        let place = Place::new();
        let line = format!("touch up; {DAEMONS} echo > ready; sleep 300");
        let (process, _streams) = start(&place.shell(&line));
        place.made("ready").await;
        match wait {
            true => drop(process.end().await),
            false => drop(process),
        }
        place.gone("up").await;
        place.nothing_left().await;
    }
}

#[tokio::test]
async fn a_daemon_that_wipes_its_environment_at_once_does_not_outlive_its_process() {
    let place = Place::new();
    let hide = "exec </dev/null >/dev/null 2>&1; echo >> daemons; exec sleep 300";
    for command in [&["env", "-i", "sh", "-c", hide][..], &["env", "-i", "sleep", "300"]].repeat(8)
    {
        let daemon = place.command("/usr/bin/setsid", &[&["-f"], command].concat());
        let (mut process, _streams) = start(&daemon);
        assert!(process.wait().await.unwrap().success());
        process.exited().await;
    }
    place.nothing_stays().await;
}

#[tokio::test]
async fn a_process_that_is_ended_before_its_program_has_begun_leaves_nothing() {
    let place = Place::new();
    for _ in 0..20 {
        drop(start(&place.shell("sleep 300 & sleep 300")));
    }
    place.nothing_left().await;
}

#[test]
fn a_runtime_that_goes_away_takes_its_processes_along() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let line = "trap '' TERM; setsid sleep 300 & sleep 300 & echo > up; sleep 300";
    let (mut process, streams) = runtime.block_on(up(&place, line));
    runtime.spawn(async move {
        let _ = process.wait().await;
        drop(streams);
    });
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(place.nothing_left());
}

/// Ends at once, which only its tracer can see: a child of it, which does not care.
const TRACED: &str = "import ctypes, os, time
libc, traced = ctypes.CDLL(None), os.getpid()
libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
ours, theirs = os.pipe()
if os.fork() == 0:
    seized = libc.ptrace(0x4206, traced, None, None)
    os.write(theirs, b'%d' % seized)
    time.sleep(300)
told = os.read(ours, 9)
open('up', 'w').write('%s\\n' % told.decode())
os._exit(0)
";

#[tokio::test]
async fn a_process_whose_end_is_hidden_by_a_tracer_can_be_ended() {
    let place = Place::new();
    let (mut process, _streams) = start(&place.command("/usr/bin/python3", &["-c", TRACED]));
    place.made("up").await;
    assert_eq!(fs::read_to_string(place.path().join("up")).unwrap(), "0\n", "it is traced");
    assert!(timeout(Duration::from_secs(1), process.wait()).await.is_err());
    timeout(LAG, process.end()).await.unwrap();
    place.nothing_left().await;
}

#[tokio::test]
async fn a_process_without_streams_is_ended_too() {
    let place = Place::new();
    let mut command = place.shell("echo > up; exec <&- >&- 2>&-; sleep 300");
    command.stdin = Stdin::Piped;
    let (process, _streams) = start(&command);
    place.made("up").await;
    process.end().await;
    place.nothing_left().await;
}
