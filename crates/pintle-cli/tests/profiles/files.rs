//! What a profile saves stays in its folder, and is a file (R10.6).

use std::{
    io::{Read, Write},
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{World, fifo};

fn saving(path: &str) -> World {
    let hook = json!({ "action": "save_json", "path": path, "name": "audit" });
    World::new(&json!({ "hooks": { "onToolCall": [hook] } }))
}

// R8.6
#[test]
fn a_hook_keeps_things_in_a_folder_of_its_own_from_run_to_run() {
    let hook = |name: &str, line: &str| json!({ "action": "command", "command": line, "name": name, "tools": ["write_file"] });
    let line = "echo >> \"$PINTLE_STATE_DIR/runs\"";
    let hooks = [hook("first", line), hook("second", line)];
    let world = World::new(&json!({ "hooks": { "onToolCall": hooks } })).allowing_programs();
    world.trust();
    for file in ["a.txt", "b.txt"] {
        let said = world.ask(&format!("write {file}: x"));
        assert!(world.path(file).exists(), "{said:?}");
    }
    let inside = |folder: std::path::PathBuf| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let profiles = inside(world.data("hook-state"));
    assert_eq!(profiles.len(), 1);
    let hooks = inside(profiles[0].clone());
    assert_eq!(hooks.len(), 2, "{hooks:?}");
    for hook in hooks {
        assert_eq!(std::fs::read(hook.join("runs")).unwrap(), b"\n\n", "{hook:?}");
    }
}

#[test]
fn a_pipe_in_place_of_the_file_is_not_waited_for() {
    let world = saving("log.jsonl");
    fifo(&world.path("profile/log.jsonl"));
    let started = Instant::now();
    let said = world.ask("write a.txt: x");
    assert!(started.elapsed() < Duration::from_secs(4), "the hook's own time limit is 5 s");
    assert!(said.out.contains("cannot be saved"), "{said:?}");
    assert!(!world.path("a.txt").exists(), "an audit that cannot be kept is a gate that fails");
}

#[test]
fn nothing_is_written_to_a_device_or_a_pipe_somebody_reads() {
    let world = saving("log.jsonl");
    let pipe = world.path("profile/log.jsonl");
    fifo(&pipe);
    // Open at both ends: to open it once more, for writing, succeeds.
    let mut held = std::fs::File::options().read(true).write(true).open(pipe).unwrap();
    let said = world.ask("write a.txt: x");
    assert!(said.out.contains("not an ordinary file"), "{said:?}");
    held.write_all(b"end").unwrap();
    let mut read = [0; 100];
    let length = held.read(&mut read).unwrap();
    assert_eq!(&read[..length], b"end", "nothing else was written to it");
    assert!(!world.path("a.txt").exists());
}

#[test]
fn a_link_swapped_in_while_lines_are_saved_never_leads_out() {
    let world = saving("log/calls.jsonl");
    std::fs::create_dir(world.path("profile/log")).unwrap();
    std::fs::create_dir(world.path("profile/spare")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let (log, away) = (world.path("profile/log"), world.path("profile/away"));
            while !done.load(Ordering::Relaxed) {
                let _ = std::fs::rename(&log, world.path("profile/spare/log"));
                let _ = symlink(world.path("elsewhere"), &away);
                let _ = std::fs::rename(&away, &log);
                let _ = std::fs::remove_file(&log);
                let _ = std::fs::rename(world.path("profile/spare/log"), &log);
            }
        });
        let mut talk = world.talk(&["--json"]);
        for turn in 0..150 {
            talk.say(&format!("list . {turn}"));
        }
        talk.end();
        done.store(true, Ordering::Relaxed);
        swapping.join().unwrap();
    });
    assert_eq!(std::fs::read_dir(world.path("elsewhere")).unwrap().count(), 0);
}

// R10.6: neither agent.json nor a script, by whatever name.
#[test]
fn a_link_inside_the_folder_does_not_lead_to_a_file_of_the_profile() {
    let world = saving("logs/calls.jsonl");
    std::fs::create_dir(world.path("profile/logs")).unwrap();
    let (definition, saved) =
        (world.path("profile/agent.json"), world.path("profile/logs/calls.jsonl"));
    let before = world.read("profile/agent.json");
    let refused = |by: &str| {
        let lint = world.run(&["hooks", "lint", "profile"]);
        assert!(!lint.ok && lint.err.contains("is a link, or goes through one"), "{by}: {lint:?}");
        assert!(!world.ask("write a.txt: x").ok && !world.path("a.txt").exists(), "{by}");
    };
    symlink("../agent.json", &saved).unwrap();
    refused("a link");
    std::fs::remove_file(&saved).unwrap();
    std::fs::hard_link(&definition, &saved).unwrap();
    refused("a second name");
    std::fs::remove_dir_all(world.path("profile/logs")).unwrap();
    std::fs::create_dir(world.path("profile/other")).unwrap();
    symlink("other", world.path("profile/logs")).unwrap();
    refused("a folder that is a link");
    std::fs::remove_file(world.path("profile/logs")).unwrap();

    // Made while the agent runs.
    let mut talk = world.talk(&["--json"]);
    talk.settle("b.txt");
    std::fs::remove_file(&saved).unwrap();
    symlink("../agent.json", &saved).unwrap();
    talk.say("write c.txt: x");
    crate::support::until(
        || {
            let trace = world.run(&["trace"]).out;
            trace.split_whitespace().collect::<Vec<_>>().join(" ").contains("cannot be saved")
        },
        "the failure",
    );
    std::fs::remove_file(&saved).unwrap();
    std::fs::hard_link(&definition, &saved).unwrap();
    talk.say("write d.txt: x");
    let said = talk.end();
    assert!(said.out.contains("it has a second name"), "{said:?}");
    assert!(!world.path("c.txt").exists() && !world.path("d.txt").exists());
    assert_eq!(world.read("profile/agent.json"), before);
}

#[test]
fn lines_of_programs_that_run_at_once_never_mix() {
    let world = saving("log.jsonl");
    let text = "x".repeat(20_000);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (world, text) = (&world, &text);
            scope.spawn(move || {
                let mut talk = world.talk(&["--json", "--session", &format!("cli:{writer}")]);
                for turn in 0..10 {
                    talk.say(&format!("write out-{writer}-{turn}: {text}"));
                }
                assert!(talk.end().ok);
            });
        }
    });
    let saved = world.read("profile/log.jsonl");
    assert_eq!(saved.lines().count(), 40);
    for line in saved.lines() {
        let line: Value = serde_json::from_str(line).expect("a whole line");
        assert_eq!(line["context"]["toolInput"]["content"].as_str().unwrap().len(), 20_000);
    }
}

// R10.6: whoever wrote the last line may have been killed in the middle of it.
#[test]
fn a_half_line_swallows_no_event() {
    let world = saving("log.jsonl");
    let saved = world.path("profile/log.jsonl");
    std::fs::write(&saved, "{\"half").unwrap();
    world.ask("write a.txt: x");
    let text = std::fs::read_to_string(saved).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "{\"half"), "{text}");
    let event: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(event["context"]["toolName"], "write_file");
}

// R10.6: by what it begins with, too, a file is no program.
#[test]
fn no_event_is_added_to_what_became_a_script() {
    let world = saving("log.jsonl");
    let mut talk = world.talk(&["--json"]);
    talk.settle("before.txt");
    let saved = world.path("profile/log.jsonl");
    std::fs::write(&saved, "#!/bin/sh\n").unwrap();
    talk.say("write a.txt: x");
    talk.end();
    assert_eq!(std::fs::read_to_string(saved).unwrap(), "#!/bin/sh\n");
    assert!(!world.path("a.txt").exists(), "an audit that cannot be kept is a gate that fails");
}

// R10.6: the folder is the one that was read, whatever has its name by now.
#[test]
fn a_folder_that_takes_the_profiles_place_gets_no_events() {
    let world = saving("log.jsonl");
    let mut talk = world.talk(&["--json"]);
    talk.settle("before.txt");
    std::fs::rename(world.path("profile"), world.path("moved")).unwrap();
    symlink(world.path("elsewhere"), world.path("profile")).unwrap();
    talk.settle("after.txt");
    talk.end();
    let saved = std::fs::read_to_string(world.path("moved/log.jsonl")).unwrap();
    assert!(saved.lines().count() == 2 && saved.contains("after.txt"), "{saved}");
    assert_eq!(std::fs::read_dir(world.path("elsewhere")).unwrap().count(), 0);
}

// R10.2: a model chooses how long its names are.
#[test]
fn a_log_line_stays_one_that_somebody_reads() {
    let hook = json!({ "action": "log", "name": "seen" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    let call = json!({ "id": "x".repeat(100_000), "name": "list_dir", "input": { "path": "." } });
    let script = json!([{ "toolCalls": [call] }, { "text": "done" }]);
    std::fs::write(world.path("script.json"), script.to_string()).unwrap();
    let said =
        world.run(&["chat", "--profile", "profile", "--model", "scripted:script.json", "-q", "go"]);
    let line = said.err.lines().find(|line| line.contains("seen ")).unwrap();
    assert!(line.len() < 1000 && line.contains('…'), "{} bytes", line.len());
}
