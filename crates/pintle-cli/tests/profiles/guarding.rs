//! A profile guards an agent, through the program: what it may do, what the operator allows, and what happens when a
//! guard is missing, changed or broken. The witness is a file that must not be there.

use serde_json::{Value, json};

use crate::support::World;

/// Its script lets everything through; nothing allows it to run.
fn with_forbidden_command() -> World {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "name": "check" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    world.script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null\n");
    world
}

fn with_command() -> World {
    with_forbidden_command().allowing_programs()
}

// R10.8
#[test]
fn a_profile_that_runs_programs_says_how_to_allow_it() {
    let world = with_forbidden_command();
    let output = world.ask("write a.txt: x");
    assert!(!output.ok);
    assert!(output.err.contains("PINTLE_ALLOW_COMMAND_HOOKS=1"), "{}", output.err);
    assert!(!world.run(&["hooks", "lint", "profile"]).ok);
    assert!(!world.path("a.txt").exists());
}

// R10.9
#[test]
fn a_script_runs_only_as_it_was_trusted() {
    let world = with_command();
    let untrusted = world.ask("write a.txt: x");
    assert!(untrusted.out.contains("not trusted"), "{}", untrusted.out);
    assert!(!world.path("a.txt").exists());

    let shown = world.run(&["trust", "profile"]);
    assert!(shown.out.contains("hooks/check.sh"), "{}", shown.out);
    assert!(world.run(&["trust", "profile", "--accept"]).ok);
    world.ask("write a.txt: x");
    assert!(world.path("a.txt").exists());

    world.script("profile/hooks/check.sh", "#!/bin/sh\n# now somebody else's\ncat >/dev/null\n");
    let changed = world.ask("write b.txt: x");
    assert!(changed.out.contains("changed since it was trusted"), "{}", changed.out);
    assert!(!world.path("b.txt").exists());

    std::fs::remove_file(world.path("profile/hooks/check.sh")).unwrap();
    world.ask("write c.txt: x");
    assert!(!world.path("c.txt").exists(), "a script that is gone blocks");
}

// P2, R8.1, R8.3
#[test]
fn a_script_that_says_no_crashes_hangs_or_talks_nonsense_blocks() {
    for (script, timeout, reason) in [
        ("echo 'not on a Friday' >&2; exit 1", 60_000, "not on a Friday"),
        ("kill -9 $$", 60_000, "signal 9"),
        ("sleep 300", 500, "timed out"),
        ("echo '{\"continue\": \"maybe\"}'", 60_000, "cannot be understood"),
        ("exit 127", 60_000, "127"),
    ] {
        let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "timeoutMs": timeout });
        let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
        world.script("profile/hooks/check.sh", &format!("#!/bin/sh\n{script}\n"));
        world.run(&["trust", "profile", "--accept"]);
        let output = world.ask("write a.txt: x");
        assert!(!world.path("a.txt").exists(), "{script}");
        assert!(output.out.contains(reason), "{script}: {}", output.out);
    }
}

// R10.8
#[test]
fn observers_can_be_switched_off_and_gates_stay_on() {
    let agent = json!({
        "policies": [{ "tool": "write_file", "kind": "path", "deny": ["secret"] }],
        "hooks": { "onToolCall": [
            { "action": "save_json", "path": "log/calls.jsonl" },
            { "action": "approve", "tools": ["list_dir"] },
        ] },
    });
    let world = World::new(&agent).operator("PINTLE_DISABLE_HOOKS", "1");
    let output = world.ask("write a.txt: x");
    assert!(output.err.contains("switched off"), "{}", output.err);
    assert!(world.path("a.txt").exists() && !world.path("profile/log").exists());
    assert!(world.ask("list .").out.contains("no one to ask"));
    world.ask("write secret: x");
    assert!(!world.path("secret").exists());
}

// R11.3
#[test]
fn a_profile_cannot_loosen_the_floor() {
    let world = World::new(&json!({ "security": { "level": "permissive" } }));
    let output = world.ask("write a.txt: x");
    assert!(output.err.contains("looser than the operator's"), "{}", output.err);
    assert!(!world.path("a.txt").exists());
}

// R10.6
#[test]
fn a_saved_line_cannot_leave_the_profile_and_a_line_that_cannot_be_saved_blocks() {
    let hook = json!({ "action": "save_json", "path": "log/calls.jsonl" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    world.ask("write a.txt: x");
    let saved = std::fs::read_to_string(world.path("profile/log/calls.jsonl")).unwrap();
    let line: Value = serde_json::from_str(saved.trim()).unwrap();
    assert_eq!(line["context"]["toolInput"]["path"], "a.txt");

    std::fs::remove_dir_all(world.path("profile/log")).unwrap();
    std::fs::create_dir(world.path("outside")).unwrap();
    std::os::unix::fs::symlink(world.path("outside"), world.path("profile/log")).unwrap();
    world.ask("write b.txt: x");
    assert_eq!(std::fs::read_dir(world.path("outside")).unwrap().count(), 0);
    assert!(!world.path("b.txt").exists(), "an audit that cannot be kept is a gate that fails");
}

#[test]
fn explain_shows_each_step_and_where_the_rule_is_written() {
    let agent =
        json!({ "policies": [{ "tool": "terminal", "kind": "shell", "deny": ["git push *"] }] });
    let world = World::new(&agent);
    let explain = |args: &str| {
        let arguments = [
            "hooks",
            "explain",
            "--profile",
            "profile",
            "--tool",
            "terminal",
            "--args",
            args,
            "--json",
        ];
        let output = world.run(&arguments);
        serde_json::from_str::<Value>(&output.out).unwrap_or_else(|_| panic!("{}", output.err))
    };
    let denied = explain(r#"{"command": "touch ran; git push origin main"}"#);
    let last = denied["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["step"], &last["source"]), (&json!("guards"), &json!("agent.json:7")));
    assert_eq!(denied["verdict"], "refuse");

    let runs = explain(r#"{"command": "touch ran"}"#);
    assert_eq!(runs["verdict"], "run");
    let asked = explain(r#"{"command": "touch ran", "zone": "network", "why": "to fetch it"}"#);
    let steps: Vec<_> =
        asked["steps"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    // The terminal guard and injection safety are at `tool.pre`.
    let hooks = ["tool.pre", "tool.pre"];
    let before = ["known tool", "toolset", "guards", "sandbox", "zone"];
    assert_eq!(steps, [&before[..], &hooks, &["approval", "rule"]].concat());
    assert_eq!(asked["verdict"], "ask");
    assert!(!world.path("ran").exists(), "nothing is run");
}

// R11.3: the level is a rule too, and stands somewhere.
#[test]
fn explain_says_where_the_level_and_the_selection_of_tools_are_written() {
    let source = |world: &World, step: &str, path: &str| {
        let args = json!({ "path": path, "content": "x" }).to_string();
        let arguments = [
            "hooks",
            "explain",
            "--profile",
            "profile",
            "--tool",
            "write_file",
            "--args",
            &args,
            "--json",
        ];
        let said: Value = serde_json::from_str(&world.run(&arguments).out).unwrap();
        let steps = said["steps"].as_array().unwrap().clone();
        let found = steps.iter().find(|found| found["step"] == step).unwrap();
        (found["source"].as_str().unwrap_or_default().to_string(), found["finding"].clone())
    };
    let world = World::new(&json!({}));
    assert_eq!(source(&world, "zone", "a").0, "the default level");
    std::fs::write(world.data("pintle.toml"), "level = \"strict\"\n").unwrap();
    assert_eq!(source(&world, "zone", "a").0, "pintle.toml:1");
    world
        .write("profile/agent.json", "{\n  \"security\": {\n    \"level\": \"paranoid\"\n  }\n}\n");
    assert_eq!(source(&world, "zone", "/etc/x"), ("agent.json:3".into(), json!("stops")));
    world.write("profile/agent.json", "{\n  \"tools\": { \"deny\": [\"write_*\"] }\n}\n");
    assert_eq!(source(&world, "toolset", "a"), ("agent.json:2".into(), json!("stops")));
}

#[test]
fn fire_shows_who_ran_and_what_was_decided() {
    let world = with_command();
    world
        .script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null; echo 'closed' >&2; exit 1\n");
    world.run(&["trust", "profile", "--accept"]);
    let call = json!({ "toolCallId": "1", "toolName": "write_file", "toolInput": {}, "zone": 1 });
    world.write("call.json", &call.to_string());
    let arguments =
        ["hooks", "fire", "tool.pre", "--payload", "call.json", "--profile", "profile", "--json"];
    let output = world.run(&arguments);
    assert!(!output.ok, "a block is a failure of the command");
    let fired: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(fired["handlers"][1]["name"], "check");
    assert_eq!(fired["outcome"]["blocks"][0]["reason"], "closed");

    let unknown = world.run(&["hooks", "fire", "tool.pree", "--payload", "call.json"]);
    assert!(unknown.err.contains("did you mean `tool.pre`?"), "{}", unknown.err);
}

// P6
#[test]
fn list_shows_the_state_of_every_hook() {
    let world = with_command();
    let state = |name: &str| {
        let output = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
        let rows: Vec<Value> = serde_json::from_str(&output.out).unwrap();
        let row = rows.iter().find(|row| row["name"] == name).unwrap().clone();
        row["state"].as_str().unwrap().to_string()
    };
    assert_eq!(state("check"), "untrusted");
    world.run(&["trust", "profile", "--accept"]);
    assert_eq!(state("check"), "never fired");
    world.ask("write a.txt: x");
    assert_eq!(state("check"), "active");
    assert_eq!(state("terminal guard"), "never fired");
}

#[test]
fn a_changed_profile_is_in_force_for_the_next_run_and_a_broken_one_is_not() {
    let world = World::new(&json!({}));
    let mut chat = world.talk(&[]);
    chat.settle("a.txt");
    let policy =
        json!({ "policies": [{ "tool": "write_file", "kind": "path", "deny": ["denied-*"] }] });
    world.write("profile/agent.json", &policy.to_string());
    chat.say("write denied-1.txt: x");
    chat.settle("b.txt");
    world.write("profile/agent.json", "{ broken");
    chat.say("write denied-2.txt: x");
    chat.settle("c.txt");
    let said = chat.end().err;
    assert!(!world.path("denied-1.txt").exists() && !world.path("denied-2.txt").exists());
    assert!(
        said.contains("the new version is in force")
            && said.contains("the old version stays in force"),
        "{said}"
    );
}

// R10.8: a server is a program too.
#[test]
fn a_profile_cannot_start_an_mcp_server_that_the_operator_has_not_allowed() {
    let server = json!({ "command": "touch", "args": ["started"] });
    let world = World::new(&json!({ "mcpServers": { "sneaky": server } }));
    let output = world.ask("list .");
    assert!(output.err.contains("PINTLE_ALLOW_COMMAND_HOOKS=1"), "{}", output.err);
    assert!(!world.path("profile/started").exists() && !world.path("started").exists());
}
