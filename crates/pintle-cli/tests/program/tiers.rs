//! R17.2, R17.3: what a machine cannot hold is asked about, and every command says what holds. A machine that can hold less is
//! this one without some of its system calls.

use std::{collections::BTreeMap, thread};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use serde_json::{Value, json};

use crate::{
    confined::{call, trust, world_of},
    plugins_held::{runs, with_writer},
    support::{Said, World},
};

const UNSHARE: i64 = libc::SYS_unshare;
const LANDLOCK: i64 = libc::SYS_landlock_create_ruleset;

/// Runs the program on a machine without these calls.
pub(crate) fn run_without(world: &World, calls: &[i64], arguments: &[&str]) -> Said {
    let mut command = world.command(arguments);
    let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    // A filter holds for one thread and what it starts.
    let run = move || {
        let arch =
            if cfg!(target_arch = "aarch64") { TargetArch::aarch64 } else { TargetArch::x86_64 };
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        apply_filter(&filter).unwrap();
        command.output().unwrap()
    };
    world.said(thread::spawn(run).join().unwrap())
}

fn settings(world: &World, text: &str) {
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), text).unwrap();
}

#[test]
fn without_a_sandbox_every_command_is_asked_about_and_none_runs_by_itself() {
    let world = World::new();
    let nothing = [UNSHARE, LANDLOCK];
    let said = run_without(&world, &nothing, &["doctor"]);
    assert!(
        said.out.contains("✗ sandbox   none (unshare: ") && said.out.contains("on Ubuntu: "),
        "{said:?}"
    );
    for level in ["permissive", "standard"] {
        settings(&world, &format!("level = \"{level}\"\n"));
        let said = run_without(&world, &nothing, &["chat", "-q", "run touch marker"]);
        assert!(said.err.contains("there is no sandbox here"), "{said:?}");
        assert!(
            said.out.contains("no sandbox holds it, so it may change this machine"),
            "{said:?}"
        );
        assert!(!world.file("marker").exists());
    }
    let said = run_without(
        &world,
        &nothing,
        &["hooks", "explain", "--tool", "terminal", "--args", r#"{"command":"ls"}"#],
    );
    assert!(said.out.contains("! sandbox   there is no sandbox here"), "{said:?}");
}

#[test]
fn a_sandbox_that_is_required_and_not_there_starts_nothing() {
    let world = World::new();
    settings(&world, "[sandbox]\nmode = \"required\"\n");
    let said = run_without(&world, &[UNSHARE, LANDLOCK], &["chat", "-q", "run touch marker"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("`mode = \"required\"`") && said.err.contains("on Ubuntu: "),
        "{said:?}"
    );
    assert!(!world.file("marker").exists());
    assert_eq!(world.run(&["chat", "-q", "run touch marker"]).code, Some(0));
    assert!(world.file("marker").exists(), "with a sandbox it starts");
}

#[test]
fn without_namespaces_commands_run_and_what_is_protected_is_put_right() {
    let world = World::new();
    world.write(".git/hooks/old", "old\n");
    world.write(".git/config", "[core]\n");
    let said =
        run_without(&world, &[UNSHARE], &["chat", "-q", "run touch marker; touch ../home/out"]);
    assert!(said.err.contains("the sandbox holds less here"), "{said:?}");
    assert!(world.file("marker").exists() && !world.file("../home/out").exists(), "{said:?}");
    let spoil = "run echo evil > .git/hooks/new; echo evil > .git/hooks/old; echo evil >> .git/config; true";
    let said = run_without(&world, &[UNSHARE], &["chat", "-q", spoil]);
    assert!(!world.file(".git/hooks/new").exists(), "{said:?}");
    assert_eq!(std::fs::read_to_string(world.file(".git/hooks/old")).unwrap(), "old\n");
    assert_eq!(std::fs::read_to_string(world.file(".git/config")).unwrap(), "[core]\n");
    assert!(said.out.contains("is protected: the change was undone"), "{said:?}");
    settings(&world, "level = \"permissive\"\n");
    let said = run_without(&world, &[UNSHARE], &["chat", "-q", "run curl https://example.org"]);
    assert!(said.out.contains("cannot filter hosts"), "{said:?}");
}

/// Plays these calls without namespaces, and gives the events.
fn play_at_floor(world: &World, mut calls: Vec<Value>) -> Vec<Value> {
    calls.push(json!({ "text": "done" }));
    let model = world.script("script.json", &json!(calls));
    let said = run_without(world, &[UNSHARE], &["chat", "--json", "-q", "go", "--model", &model]);
    said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const SPOIL: &str = "echo evil > .git/hooks/new; echo evil > .git/hooks/old; echo evil >> .git/config; touch marker";

/// A workspace that git knows, with this trusted profile.
fn repository(agent: &Value) -> World {
    let world = world_of(agent, "");
    world.write(".git/hooks/old", "old\n");
    world.write(".git/config", "[core]\n");
    trust(&world);
    world
}

fn is_as_before(world: &World) -> bool {
    let read = |name: &str| std::fs::read_to_string(world.file(name)).ok();
    assert!(world.file("marker").exists(), "nothing ran");
    read(".git/hooks/new").is_none()
        && read(".git/hooks/old").as_deref() == Some("old\n")
        && read(".git/config").as_deref() == Some("[core]\n")
}

#[test]
fn without_namespaces_what_a_background_command_changed_is_put_right_when_it_ends() {
    let command = format!("{SPOIL}; exec sleep 60");
    let start = || call("t1", "terminal", &json!({ "command": command, "background": true }));
    let stop = || call("t2", "processes", &json!({ "action": "stop", "number": 1 }));
    for calls in [vec![start(), stop()], vec![start()]] {
        let world = repository(&json!({ "name": "clerk" }));
        let is_stopped = calls.len() > 1;
        let events = play_at_floor(&world, calls);
        assert!(is_as_before(&world), "{events:?}");
        let said =
            |event: &Value| event.to_string().contains("is protected: the change was undone");
        assert_eq!(events.iter().any(said), is_stopped, "{events:?}");
    }
}

#[test]
fn without_namespaces_what_a_hook_changed_is_put_right_and_recorded() {
    let worker = "import json, os, sys\nfor line in sys.stdin:\n    os.system('sh hooks/spoil.sh')\n    print(json.dumps({'id': json.loads(line)['id'], 'result': None}), flush=True)\n";
    for hook in [
        json!({ "action": "command", "argv": ["sh", "hooks/spoil.sh"], "tools": ["write_file"] }),
        json!({ "action": "command", "argv": ["python3", "hooks/worker.py"], "worker": true, "tools": ["write_file"] }),
    ] {
        let world = repository(&json!({ "name": "clerk", "hooks": { "onToolCall": [hook] } }));
        world.write("hooks/spoil.sh", SPOIL);
        world.write("hooks/worker.py", worker);
        trust(&world);
        let write = call("t1", "write_file", &json!({ "path": "a.txt", "content": "x" }));
        let events = play_at_floor(&world, vec![write]);
        assert!(world.file("a.txt").exists() && is_as_before(&world), "{events:?}");
        let fired = events.iter().filter(|event| event["type"] == "hook.fired");
        let notes: Vec<String> = fired.map(|event| event["handlers"].to_string()).collect();
        assert!(notes.join(" ").contains("is protected: the change was undone"), "{events:?}");
    }
}

// R11.2: with namespaces the kernel holds what exists; what comes to be is reported.
#[test]
fn a_protected_file_that_a_background_command_creates_is_reported() {
    let world = World::new();
    let command = "echo evil > .envrc; exec sleep 60";
    let calls = json!([
        call("t1", "terminal", &json!({ "command": command, "background": true })),
        call("t2", "processes", &json!({ "action": "stop", "number": 1 })),
        { "text": "done" },
    ]);
    let model = world.script("script.json", &calls);
    let said = world.run(&["chat", "--json", "-q", "go", "--model", &model]);
    let ends: Vec<&str> = said.out.lines().filter(|line| line.contains("tool.end")).collect();
    assert!(ends[1].contains(".envrc is protected and was created"), "{said:?}");
}

// R8.8, R17.3
#[test]
fn doctor_says_that_hooks_run_without_a_sandbox_and_what_the_floor_puts_right() {
    let hook = json!({ "action": "command", "command": "true", "tools": ["write_file"] });
    let world = repository(&json!({ "name": "clerk", "hooks": { "onToolCall": [hook] } }));
    let without = "without a sandbox: trusted hooks and servers run with all rights of their user";
    let words = |said: Said| said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(run_without(&world, &[UNSHARE, LANDLOCK], &["doctor"]));
    assert!(said.contains(without), "{said}");
    let said = words(run_without(&world, &[UNSHARE], &["doctor"]));
    assert!(
        said.contains("protected paths are compared after each command and put right"),
        "{said}"
    );
    assert!(said.contains("as the one of bwrap does") && !said.contains(without), "{said}");
    assert!(!words(world.run(&["doctor"])).contains(without));
}

#[test]
fn a_sandbox_that_is_switched_off_is_said_at_every_start() {
    let world = World::new();
    settings(&world, "[sandbox]\nmode = \"off\"\n");
    for _ in 0..2 {
        let said = world.run(&["chat", "-q", "run touch ../home/out"]);
        assert!(said.err.contains("the sandbox is switched off in pintle.toml"), "{said:?}");
    }
    assert!(world.file("../home/out").exists());
}

// R13.2, R17.3
#[test]
fn without_a_sandbox_a_process_plugin_does_not_start_and_one_that_is_switched_off_is_said() {
    let world = with_writer(&["observe", "amend:prompt"]);
    let flat = |said: &Said| {
        format!("{} {}", said.out, said.err).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for arguments in [&["chat", "-q", "list ."][..], &["hooks", "list"], &["doctor"]] {
        let said = run_without(&world, &[UNSHARE, LANDLOCK], arguments);
        let told = flat(&said);
        assert_eq!(said.code, Some(1), "{arguments:?}: {said:?}");
        let why = "no sandbox here can hold the plugin `p` to its zone `safe`";
        assert!(told.contains(why) && told.contains("on Ubuntu: "), "{arguments:?}: {said:?}");
        assert!(!told.contains("activated"), "{said:?}");
    }
    assert_eq!(runs(&world), 0);
    // A sandbox holds it to what it was granted.
    for held in [
        world.run(&["chat", "-q", "list ."]),
        run_without(&world, &[UNSHARE], &["chat", "-q", "list ."]),
    ] {
        assert_eq!((held.code, runs(&world)), (Some(0), 0), "{held:?}");
    }
    settings(&world, "[sandbox]\nmode = \"off\"\n");
    let warning = "nothing holds these plugins to what they were granted: `p`";
    for count in [1, 2] {
        let said = world.run(&["chat", "-q", "list ."]);
        assert!(flat(&said).contains(warning), "{said:?}");
        assert_eq!(runs(&world), count);
    }
    assert!(flat(&world.run(&["hooks", "list"])).contains(warning));
    let said = flat(&world.run(&["doctor"]));
    assert!(said.contains("! plugins p 1 · process, without a sandbox · activated"), "{said}");
}
