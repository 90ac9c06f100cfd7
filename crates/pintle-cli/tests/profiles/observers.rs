//! What watches sees every call, also those that a gate refuses; and nothing when somebody only asks what would happen.

use serde_json::{Value, json};

use crate::support::World;

/// A gate that says no to `denied.txt`, before everything that watches.
fn watched() -> World {
    let gate = "if grep -q denied.txt; then echo 'not this one' >&2; exit 1; fi; : > hooks.ran";
    let hooks = json!([
        { "action": "command", "name": "gate", "command": gate },
        { "action": "save_json", "name": "first", "path": "log/audit.jsonl" },
        { "action": "log", "name": "told", "level": "warn" },
        { "action": "save_json", "name": "second", "path": "log/audit.jsonl" },
    ]);
    let policy = json!({ "tool": "write_file", "kind": "path", "deny": ["forbidden.txt"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": hooks }, "policies": [policy] }));
    let world = world.allowing_programs();
    world.trust();
    world
}

fn audit(world: &World) -> Vec<Value> {
    let log = world.read("profile/log/audit.jsonl");
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// R10.6, P6
#[test]
fn a_call_that_a_gate_refuses_is_in_the_audit() {
    let world = watched();
    let said = world.ask("write denied.txt: x");
    assert!(said.out.contains("not this one") && !world.path("denied.txt").exists(), "{said:?}");
    assert!(said.err.contains("told tool.pre"), "{said:?}");
    let lines = audit(&world);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0]["context"]["toolInput"]["path"], "denied.txt");
}

// R10.2
#[test]
fn a_log_at_on_model_end_has_tokens_and_cost() {
    let hooks = json!({ "onModelEnd": [{ "action": "log", "name": "spent", "level": "warn" }] });
    let world = World::new(&json!({ "hooks": hooks }));
    let usage = json!({ "inputTokens": 1200, "outputTokens": 34, "costUsd": 0.25 });
    let script = json!([{ "text": "Hello.", "usage": usage }]).to_string();
    std::fs::write(world.path("script.json"), script).unwrap();
    let model = format!("scripted:{}", world.path("script.json").display());
    let said = world.run(&["chat", "--profile", "profile", "--model", &model, "-q", "hi"]);
    let told = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["spent model.post", "inputTokens=1200", "outputTokens=34", "costUsd=0.25"] {
        assert!(told.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn what_watches_comes_first_and_in_the_order_it_is_written() {
    let world = watched();
    let list = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&list.out).unwrap();
    let names: Vec<_> = rows
        .iter()
        .filter(|row| row["point"] == "tool.pre")
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..3], ["first", "told", "second"], "{names:?}");
}

// What a policy refuses reaches no hook: the records have it.
#[test]
fn a_call_that_a_policy_refuses_is_in_the_records() {
    let world = watched();
    world.ask("write forbidden.txt: x");
    assert!(!world.path("forbidden.txt").exists() && audit(&world).is_empty());
    let trace = world.run(&["trace"]);
    assert!(trace.out.contains("⊘ write forbidden.txt"), "{trace:?}");
}

#[test]
fn explain_runs_gates_and_shows_what_would_watch() {
    let world = watched();
    let explain = |path: &str| {
        let args = json!({ "path": path, "content": "x" }).to_string();
        let call = ["--tool", "write_file", "--args", &args, "--profile", "profile"];
        world.run(&[&["hooks", "explain"][..], &call].concat())
    };
    let said = explain("a.txt");
    assert!(said.ok && said.err.is_empty(), "{said:?}");
    for shown in ["`first` would watch: save_json", "`told` would watch: log", "gate "] {
        assert!(said.out.contains(shown), "{shown}: {said:?}");
    }
    assert!(world.path("profile/hooks.ran").exists(), "its answer is part of the judgement");
    let denied = explain("denied.txt");
    assert!(denied.out.contains("not this one"), "{denied:?}");
    assert!(!world.path("profile/log").exists(), "nothing is saved");
    let help = world.run(&["explain", "--help"]);
    assert!(help.out.contains("Hooks that decide do run"), "{help:?}");
}
