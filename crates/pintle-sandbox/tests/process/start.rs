//! What a process gets, and what keeps it from starting.

use std::{fs, io::ErrorKind, os::unix::process::ExitStatusExt, sync::Arc, time::Duration};

use pintle_sandbox::{Folder, Output, Stdin};
use tokio::io::AsyncWriteExt;

use crate::support::{Place, command_in, run, start, text, try_start};

#[tokio::test]
async fn a_process_gets_its_arguments_its_folder_and_no_other_environment() {
    let place = Place::new();
    let said = run(&place.command("/usr/bin/printf", &["%s|", "a b", "$HOME", "*"])).await;
    assert_eq!(said, "a b|$HOME|*|");
    assert_eq!(run(&place.shell("pwd -P")).await, format!("{}\n", place.path().display()));
    assert!(std::env::vars().count() > 0, "there is something to inherit");
    let mut command = command_in(&place.path(), "/usr/bin/env", &[]);
    command.env = [("B", "first"), ("A", "x=y"), ("B", "last")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    let said = run(&command).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["A=x=y", "B=last"]); // R8.6
    assert!(lines.len() == 3 && lines[2].starts_with("PINTLE_PROCESS_TAG="), "{said}");
}

#[tokio::test]
async fn a_program_that_is_run_starts_with_the_default_signals() {
    // Rust itself ignores SIGPIPE in this process.
    let place = Place::new();
    let (mut process, _streams) = start(&place.shell("kill -PIPE $$"));
    assert_eq!(process.wait().await.unwrap().signal(), Some(13));
}

#[tokio::test]
async fn output_is_apart_or_in_its_true_order() {
    let line = "echo one; echo two >&2; echo three";
    let place = Place::new();
    let mut command = place.shell(line);
    let (mut process, streams) = start(&command);
    assert!(process.wait().await.unwrap().success());
    assert_eq!(text(streams.stdout).await, "one\nthree\n");
    assert_eq!(text(streams.stderr.unwrap()).await, "two\n");
    command.output = Output::Merged;
    let (mut process, streams) = start(&command);
    assert!(process.wait().await.unwrap().success());
    assert_eq!(text(streams.stdout).await, "one\ntwo\nthree\n");
    assert!(streams.stderr.is_none());
}

#[tokio::test]
async fn standard_input_is_empty_or_what_the_host_writes() {
    let place = Place::new();
    let mut command = place.shell("cat; echo end");
    assert_eq!(run(&command).await, "end\n");
    command.stdin = Stdin::Piped;
    let (mut process, streams) = start(&command);
    let mut stdin = streams.stdin.unwrap();
    stdin.write_all(b"told ").await.unwrap();
    drop(stdin);
    assert!(process.wait().await.unwrap().success());
    assert_eq!(text(streams.stdout).await, "told end\n");
}

// P3
#[tokio::test]
async fn a_process_starts_in_the_folder_that_was_opened_wherever_its_path_leads_now() {
    let place = Place::new();
    let (judged, moved) = (place.path().join("judged"), place.path().join("moved"));
    fs::create_dir(&judged).unwrap();
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    let handle = Arc::new(fs::File::open(&judged).unwrap().into());
    fs::rename(&judged, &moved).unwrap();
    std::os::unix::fs::symlink("elsewhere", &judged).unwrap();
    let mut command = place.shell("pwd -P");
    command.folder = Folder::Opened { handle, path: judged };
    assert_eq!(run(&command).await, format!("{}\n", moved.display()));
}

/// Each of these fails with an error that says what is wrong, and leaves no process.
pub(crate) async fn whatever_cannot_be_started_says_why(place: &Place) {
    place.script("no-interpreter", "#!/opt/no/such/python\n");
    place.script("dos", "#!/bin/sh\r\nexit 0\r\n");
    let circle = place.path().join("circle");
    place.script("circle", &format!("#!{}\nexit 0\n", circle.display()));
    fs::write(place.path().join("no-run-bit"), "#!/bin/sh\n").unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    for (name, words) in [
        ("missing", "No such file"),
        ("no-interpreter", "No such file"),
        ("dos", "No such file"),
        ("circle", "symbolic links"),
        ("no-run-bit", "Permission denied"),
        ("folder", "Permission denied"),
    ] {
        let error = try_start(&place.command(place.path().join(name), &[])).err().unwrap();
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
    let mut nowhere = place.shell("exit 0");
    nowhere.folder = Folder::Path("/no/such/folder".into());
    assert_eq!(try_start(&nowhere).err().unwrap().kind(), ErrorKind::NotFound);
    let nul = try_start(&place.command("/bin/sh", &["-c", "nul\0byte"])).err().unwrap();
    assert_eq!(nul.kind(), ErrorKind::InvalidInput);
    place.nothing_left().await;
}

#[tokio::test]
async fn a_process_that_cannot_be_started_says_why_and_leaves_nothing() {
    let place = Place::new();
    whatever_cannot_be_started_says_why(&place).await;
    let script = place.script("no-first-line", "exit 0\n");
    let error = try_start(&place.command(script, &[])).err().unwrap();
    assert!(error.to_string().contains("Exec format error"), "{error}");
}

#[tokio::test]
async fn a_path_that_is_not_absolute_is_refused() {
    let place = Place::new();
    let mut relative = place.shell("exit 0");
    relative.folder = Folder::Path(".".into());
    for command in [relative, place.command("sh", &["-c", "exit 0"])] {
        let error = try_start(&command).err().unwrap();
        assert!(error.to_string().ends_with("is not an absolute path"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_many_processes_that_start_at_once_each_runs_once() {
    let place = Place::new();
    let command = place.shell("echo >> runs");
    for _ in 0..12 {
        let runs = (0..50).map(|_| {
            let command = command.clone();
            tokio::spawn(async move { run(&command).await })
        });
        for run in runs.collect::<Vec<_>>() {
            assert_eq!(run.await.unwrap(), "");
        }
    }
    assert_eq!(fs::read(place.path().join("runs")).unwrap().len(), 600);
    place.nothing_left().await; // P5
}

#[tokio::test]
async fn waiting_can_be_given_up_and_taken_up_again() {
    let place = Place::new();
    let (mut process, _streams) = start(&place.shell("sleep 0.3; exit 7"));
    let waited = tokio::time::timeout(Duration::from_millis(20), process.wait()).await;
    assert!(waited.is_err() && !process.has_exited());
    assert!(process.id().is_some());
    assert_eq!(process.wait().await.unwrap().code(), Some(7));
    assert_eq!(process.wait().await.unwrap().code(), Some(7));
    assert!(process.has_exited() && process.id().is_none());
}
