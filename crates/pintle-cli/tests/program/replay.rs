//! `pintle replay`, `pintle stats` and shadow mode.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::World;

/// A profile with these guards and hooks.
fn profile(world: &World, policies: &Value, hooks: &Value) {
    let agent = json!({ "name": "shop", "policies": policies, "hooks": hooks });
    world.write("shop/agent.json", serde_json::to_string_pretty(&agent).unwrap());
}

/// A run that writes, reads and lists.
fn recorded(world: &World) {
    let call = |id: &str, name: &str, input: Value| json!({"id": id, "name": name, "input": input});
    let script = world.script(
        "script.json",
        &json!([
            { "toolCalls": [
                call("t1", "write_file", json!({"path": "a.txt", "content": "x"})),
                call("t2", "terminal", json!({"command": "git push origin main"})),
                call("t3", "list_dir", json!({"path": "."})),
            ]},
            { "text": "Done.", "usage": {"inputTokens": 1200, "outputTokens": 34, "costUsd": 0.0} },
        ]),
    );
    let said = world.run(&["chat", "--profile", "shop", "--model", &script, "-q", "go"]);
    assert_eq!(said.code, Some(0), "{said}");
}

#[test]
fn a_profile_that_has_not_changed_gives_the_same_verdicts() {
    let world = World::new();
    profile(&world, &json!([]), &json!({}));
    recorded(&world);
    let said = world.run(&["replay"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert_snapshot!(said.to_string());
}

#[test]
fn a_new_rule_is_tried_on_recorded_runs_and_what_it_changes_is_shown() {
    let world = World::new();
    profile(&world, &json!([]), &json!({}));
    recorded(&world);
    let guard = json!([{ "tool": "terminal", "kind": "shell", "deny": ["git push"] }]);
    profile(
        &world,
        &guard,
        &json!({ "onToolCall": [{ "action": "approve", "tools": ["list_dir"] }] }),
    );
    assert_snapshot!(world.transcript(&[&["replay"], &["replay", "--since", "1d"]]));
    let machine = world.run(&["replay", "--json"]);
    assert_eq!(machine.code, Some(3));
    let machine = machine.json();
    assert_eq!((&machine["calls"], &machine["profileDiffers"]), (&json!(3), &json!(1)));
    let changed = machine["changed"].as_array().unwrap();
    let verdicts: Vec<_> = changed
        .iter()
        .map(|it| (&it["toolCallId"], &it["then"]["verdict"], &it["now"]["verdict"]))
        .collect();
    assert_eq!(
        verdicts,
        [
            (&json!("t2"), &json!("ask"), &json!("refuse")),
            (&json!("t3"), &json!("run"), &json!("ask"))
        ]
    );
    assert!(changed[0]["now"]["decidedBy"]["source"].as_str().unwrap().starts_with("agent.json:"));
    assert_eq!(world.run(&["replay", "--no-profile"]).code, Some(0));
    assert_eq!(world.run(&["replay", "--since", "soon"]).code, Some(2));
    assert!(!world.file("shop/a.txt").exists());
}

#[test]
fn programs_of_hooks_run_only_when_asked_for_and_else_their_recorded_answers_stand() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), "allow_command_hooks = true\n").unwrap();
    let hooks = json!({ "onToolCall": [{
        "action": "command", "name": "gate", "argv": ["hooks/gate.sh"], "tools": ["write_file"]
    }]});
    profile(&world, &json!([]), &hooks);
    let gate = "#!/bin/sh\ntouch \"$PINTLE_STATE_DIR/ran\"\necho no writing >&2\nexit 1\n";
    world.executable("shop/hooks/gate.sh", gate);
    assert_eq!(world.run(&["trust", "shop", "--accept"]).code, Some(0));
    recorded(&world);
    let marker = || {
        let state =
            std::process::Command::new("find").arg(world.data()).args(["-name", "ran"]).output();
        String::from_utf8(state.unwrap().stdout).unwrap().trim().to_owned()
    };
    let ran = marker();
    assert!(!ran.is_empty(), "the hook ran in the run");
    std::fs::remove_file(&ran).unwrap();
    let said = world.run(&["replay"]);
    assert_eq!((said.code, marker()), (Some(0), String::new()), "{said}");
    assert_snapshot!(said.to_string());
    let said = world.run(&["replay", "--run-hooks"]);
    assert_eq!((said.code, marker()), (Some(0), ran), "{said}");
    // The hook is gone: what it refused would run.
    profile(&world, &json!([]), &json!({}));
    let now = world.run(&["replay", "--json"]).json();
    assert_eq!(now["changed"][0]["then"]["decidedBy"]["hook"], "gate");
    assert_eq!(now["changed"][0]["now"]["verdict"], "run");
}

#[test]
fn shadow_mode_blocks_nothing_and_stats_say_what_it_would_have_done() {
    let world = World::new();
    let guard =
        json!([{ "tool": "write_file", "kind": "path", "deny": ["*.txt"], "shadow": true }]);
    let hooks = json!({ "onToolCall": [
        { "action": "approve", "name": "new", "tools": ["list_dir"], "shadow": true }
    ]});
    profile(&world, &guard, &hooks);
    recorded(&world);
    assert!(world.file("a.txt").exists(), "a guard in shadow mode let it be written");
    assert_snapshot!(world.transcript(&[
        &["stats", "--shadow"],
        &[
            "explain",
            "--profile",
            "shop",
            "--tool",
            "write_file",
            "--args",
            r#"{"path": "a.txt", "content": ""}"#
        ],
    ]));
    let said = world.run(&["stats", "--shadow", "--json"]).json();
    assert_eq!(
        (&said["guards"][0]["wouldRefuse"], &said["hooks"][0]["wouldAsk"]),
        (&json!(1), &json!(1))
    );
    // What observes has no verdict that could be left out.
    profile(&world, &json!([]), &json!({ "onToolCall": [{ "action": "log", "shadow": true }] }));
    assert_eq!(world.run(&["hooks", "lint", "shop"]).code, Some(1));
}

#[test]
fn stats_count_hooks_and_models() {
    let world = World::new();
    assert_eq!(world.run(&["stats"]).out, "No runs in this time.\n");
    profile(&world, &json!([]), &json!({}));
    recorded(&world);
    let said = world.run(&["stats"]).out;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let hook = words(said.lines().find(|line| line.starts_with("terminal guard")).unwrap());
    assert_eq!(hook[2..6], ["tool.pre", "1", "0", "0"], "{said}");
    let usage = words(said.lines().last().unwrap());
    assert_eq!(usage[1..5], ["default", "1", "1.2k", "34"], "{said}");
    let said = world.run(&["stats", "--json"]).json();
    assert_eq!(
        (&said["usage"][0]["runs"], &said["usage"][0]["inputTokens"]),
        (&json!(1), &json!(1200))
    );
    assert_eq!(said["hooks"][0]["failures"], 0);
}
