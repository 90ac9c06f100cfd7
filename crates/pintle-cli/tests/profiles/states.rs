//! `pintle hooks list`: every hook that is declared has a state (P6).

use serde_json::{Value, json};

use crate::support::World;

const BROKEN: &str = r#"{
  "hooks": {
    "onToolCall": [
      { "action": "approve", "name": "ask", "tools": ["terminal"] },
      { "action": "aprove", "name": "misspelt" }
    ],
    "onStart": [{ "action": "log", "name": "loud", "level": "shout" }],
    "onStrat": [{ "action": "log", "name": "nowhere" }]
  }
}"#;

fn rows(world: &World) -> (bool, Vec<Value>) {
    let said = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
    (said.ok, serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}")))
}

fn row<'r>(rows: &'r [Value], name: &str) -> &'r Value {
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
}

fn state(world: &World, name: &str) -> String {
    row(&rows(world).1, name)["state"].as_str().unwrap().to_string()
}

#[test]
fn every_hook_of_a_profile_that_does_not_load_is_shown_and_the_wrong_ones_say_why() {
    let world = World::new(&json!({}));
    world.write("profile/agent.json", BROKEN);
    let (ok, rows) = rows(&world);
    assert!(!ok, "the profile does not load");
    let found = |name: &str| {
        let row = row(&rows, name);
        (row["state"].as_str().unwrap().to_string(), row["errors"][0]["line"].as_u64())
    };
    assert_eq!(found("ask"), ("not loaded".into(), None));
    assert_eq!(found("misspelt"), ("invalid".into(), Some(5)));
    assert_eq!(found("loud"), ("invalid".into(), Some(7)));
    assert_eq!(found("nowhere"), ("invalid".into(), Some(8)));
    assert_eq!(found("terminal guard"), ("never fired".into(), None));
    assert_eq!(row(&rows, "misspelt")["errors"][0]["help"][0], "did you mean `approve`?");

    // A person sees each mistake once.
    let said = world.run(&["hooks", "list", "--profile", "profile"]);
    assert!(!said.ok && said.out.is_empty(), "{said:?}");
    for why in ["`aprove`", "`shout`", "`onStrat`"] {
        assert_eq!(said.err.matches(why).count(), 1, "{why}: {said:?}");
    }
    assert!(said.err.contains("3 errors: the profile was not loaded"), "{said:?}");
}

// P6: what fired once and is not bound now guards nothing.
#[test]
fn a_hook_that_fired_is_not_active_when_its_profile_no_longer_loads() {
    let hook = json!({ "action": "log", "name": "once" });
    let world = World::new(&json!({ "hooks": { "onStart": [hook] } }));
    world.ask("list .");
    assert_eq!(state(&world, "once"), "active");
    world.agent(&json!({ "nmae": "x", "hooks": { "onStart": [hook] } }));
    assert_eq!(state(&world, "once"), "not loaded");
}

// R3.4: nobody should rely on a no that stops nothing.
#[test]
fn a_hook_whose_no_stops_nothing_is_said_to_be_one() {
    let run = |name: &str| json!({ "action": "command", "argv": ["false"], "name": name });
    let hooks = json!({ "onToolEnd": [run("after")], "onComplete": [run("last")],
        "onToolCall": [run("before")], "onPrompt": [run("first")], "onStart": [{ "action": "log", "name": "watches" }] });
    let world = World::new(&json!({ "hooks": hooks })).allowing_programs();
    world.trust();
    let (_, rows) = rows(&world);
    for (name, binding) in
        [("after", false), ("last", false), ("watches", false), ("before", true), ("first", true)]
    {
        assert_eq!(row(&rows, name)["binding"], binding, "{name}");
    }
    let list = world.run(&["hooks", "list", "--profile", "profile"]).out;
    for (name, advisory) in [("after", true), ("before", false)] {
        let line = list.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
        assert_eq!(line.contains(" advises "), advisory, "{line}");
    }
    assert_eq!(row(&rows, "watches")["observer"], true);
    assert_eq!(row(&rows, "before")["observer"], false);
    let lint = world.run(&["hooks", "lint", "profile"]).out;
    let notes: Vec<_> = lint.lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(notes.len(), 1, "{lint}");
    for words in ["`after` (onToolEnd,", "`last` (onComplete,", "only onPrompt and onToolCall"] {
        assert!(notes[0].contains(words), "{words}: {lint}");
    }
    for other in ["before", "watches"] {
        assert!(!notes[0].contains(other), "{other}: {lint}");
    }
}

// P6: nobody should take what only watches for a guard, whatever state it is in.
#[test]
fn a_hook_that_only_watches_is_said_to_be_an_observer() {
    let hooks = json!([{ "action": "log", "name": "told" }, { "action": "approve", "name": "ask" },
        { "action": "save_json", "path": "log.jsonl", "name": "kept" }]);
    let world = World::new(&json!({ "hooks": { "onToolCall": hooks } }));
    let watching = |world: &World| {
        let list = world.run(&["hooks", "list", "--profile", "profile"]).out;
        ["told", "kept", "ask"].map(|name| {
            let line = list.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
            line.contains(" observer ")
        })
    };
    assert_eq!(watching(&world), [true, true, false]);
    let mut talk = world.talk(&[]);
    talk.say("/hooks");
    assert_eq!(talk.end().out.matches("Gate, observer ").count(), 2);
    world.agent(&json!({ "hooks": { "onToolCall": hooks } }));
    let world = world.operator("PINTLE_DISABLE_HOOKS", "1");
    assert_eq!(watching(&world), [true, true, false], "also when they are switched off");
}

#[test]
fn a_hook_the_operator_does_not_allow_is_invalid() {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "name": "check" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    world.script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null\n");
    let (ok, rows) = rows(&world);
    let check = row(&rows, "check");
    assert_eq!((ok, &check["state"]), (false, &json!("invalid")));
    assert!(
        check["errors"][0]["help"][0].as_str().unwrap().contains("PINTLE_ALLOW_COMMAND_HOOKS=1")
    );
}

#[test]
fn a_file_that_is_no_json_has_only_errors() {
    let world = World::new(&json!({}));
    world.write("profile/agent.json", "{ broken");
    let said = world.run(&["hooks", "list", "--profile", "profile"]);
    assert!(!said.ok && said.err.contains("this is not JSON"), "{said:?}");
    let rows = world.run(&["hooks", "list", "--profile", "profile", "--json"]).out;
    assert!(rows.contains("terminal guard"), "built-ins are there whatever the profile says");
}

// R10.8
#[test]
fn what_the_operator_switched_off_is_listed_whole_as_disabled() {
    let world = World::new(&json!({ "hooks": {
        "onToolCall": [{ "action": "approve", "name": "ask" }, { "action": "log", "name": "line", "tools": ["terminal"] }],
        "onStart": [{ "action": "save_json", "path": "log.jsonl", "name": "kept" }],
    } }))
    .operator("PINTLE_DISABLE_HOOKS", "1");
    let (ok, rows) = rows(&world);
    assert!(ok);
    let line = row(&rows, "line");
    assert_eq!((&line["state"], &line["point"]), (&json!("disabled"), &json!("tool.pre")));
    assert_eq!(
        (&line["model"], &line["tools"]),
        (&row(&rows, "ask")["model"], &json!(["terminal"]))
    );
    assert!(line["source"].as_str().unwrap().starts_with("agent.json:"), "{line}");
    assert_eq!(row(&rows, "kept")["state"], "disabled");
    assert_eq!(row(&rows, "ask")["state"], "never fired", "a gate stays on");
}

// R10.9
#[test]
fn a_changed_script_is_untrusted_until_somebody_looked() {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "name": "check" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    world.script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null\n");
    assert_eq!(state(&world, "check"), "untrusted");
    world.trust();
    assert_eq!(state(&world, "check"), "never fired");
    world.ask("write a.txt: x");
    assert_eq!(state(&world, "check"), "active");
    world.script("profile/hooks/check.sh", "#!/bin/sh\n# another\n");
    assert_eq!(state(&world, "check"), "untrusted");
}

#[test]
fn a_hook_that_fired_in_a_run_long_ago_is_active() {
    let world =
        World::new(&json!({ "hooks": { "onStart": [{ "action": "log", "name": "once" }] } }));
    world.ask("list .");
    world.agent(&json!({}));
    let mut talk = world.talk(&["--json"]);
    for turn in 0..60 {
        talk.settle(&format!("turn-{turn}"));
    }
    assert!(talk.end().ok);
    world.agent(&json!({ "hooks": { "onStart": [{ "action": "log", "name": "once" }] } }));
    assert_eq!(state(&world, "once"), "active");
}

#[test]
fn a_hook_cannot_pass_for_a_built_in() {
    let hook = json!({ "action": "log", "name": "terminal guard" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    let said = world.ask("list .");
    assert!(!said.ok && said.err.contains("is the name of a built-in hook"), "{said:?}");
}

#[test]
fn a_hook_for_a_tool_that_is_nearly_there_is_invalid() {
    let world = World::new(&json!({ "hooks": { "onToolCall": [
        { "action": "approve", "name": "slip", "tools": ["termnal"] },
        { "action": "approve", "name": "fine", "tools": ["terminal"] },
    ] } }));
    let (ok, rows) = rows(&world);
    assert_eq!((ok, &row(&rows, "slip")["state"]), (false, &json!("invalid")));
    assert_eq!(row(&rows, "slip")["errors"][0]["help"][0], "did you mean `terminal`?");
    assert_eq!(row(&rows, "fine")["state"], "not loaded");
}

// R10.4: what is wrong by itself, what the operator does not allow, and what no tool is called.
#[test]
fn everything_that_keeps_a_profile_from_loading_is_said_in_one_go() {
    let world = World::new(&json!({
        "nam": "x",
        "security": { "level": "permissive" },
        "hooks": { "onToolCall": [{ "action": "command", "argv": ["true"] }] },
        "policies": [
            { "tool": "terminl", "kind": "shell", "deny": ["rm"] },
            { "tool": "write_file", "kind": "shell", "deny": ["rm"] }
        ],
    }));
    world.write("profile/personalities/reader/SOUL.md", "You read.");
    world.write("profile/personalities/reader/config.json", r#"{ "tools": ["read_fil"] }"#);
    for command in
        [&["hooks", "lint", "profile"][..], &["chat", "-q", "list .", "--profile", "profile"]]
    {
        let said = world.run(command);
        assert!(!said.ok && said.err.contains("6 errors"), "{said:?}");
        for part in [
            "`nam`",
            "looser than the operator's",
            "PINTLE_ALLOW_COMMAND_HOOKS=1",
            "no tool `terminl`",
            "takes a `command`",
            "no tool `read_fil`",
        ] {
            assert!(said.err.contains(part), "{part}: {said:?}");
        }
    }
}

// A guard that somebody brings from another agent must not guard nothing.
#[test]
fn a_guard_for_a_tool_of_another_agent_does_not_load() {
    let world = World::new(&json!({
        "hooks": { "onToolCall": [{ "action": "approve", "tools": ["Write"] }] },
        "policies": [{ "tool": "Bash", "kind": "shell", "deny": ["git push *"] }],
    }));
    let said = world.run(&["hooks", "lint", "profile"]);
    assert!(!said.ok && said.err.contains("2 errors"), "{said:?}");
    for part in ["no tool `Bash`", "mean `terminal`?", "no tool `Write`", "mean `write_file`?"] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn the_doctor_says_when_programs_are_not_trusted() {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    world.script("profile/hooks/check.sh", "#!/bin/sh\n");
    let doctor = || world.run(&["doctor", "--profile", "profile"]);
    let never = doctor();
    assert!(!never.ok && never.out.contains("this profile is not trusted yet"), "{never:?}");
    world.trust();
    let trusted = doctor();
    assert!(trusted.ok && trusted.out.contains("all bound"), "{trusted:?}");
    world.script("profile/hooks/check.sh", "#!/bin/sh\nexit 1\n");
    let changed = doctor();
    assert!(!changed.ok && changed.out.contains("`hooks/check.sh` has changed"), "{changed:?}");
    assert!(changed.out.contains("pintle trust"), "{changed:?}");
}

// R8.8
#[test]
fn a_hook_or_server_with_a_wider_sandbox_is_shown_in_words() {
    let hook = |name: &str, sandbox: &str| json!({ "action": "command", "command": "true", "name": name, "sandbox": sandbox });
    let agent = json!({
        "hooks": { "onToolCall": [hook("free", "none"), hook("far", "network"), hook("near", "build")] },
        "mcpServers": { "files": { "command": "true", "zone": "machine" }, "other": { "command": "true" } },
    });
    let world = World::new(&agent).allowing_programs();
    world.trust();
    let list = world.run(&["hooks", "list", "--profile", "profile"]).out;
    assert!(list.contains("! free: runs without a sandbox"), "{list}");
    assert!(list.contains("! far: may reach the network"), "{list}");
    assert!(!list.contains("! near"), "{list}");
    let trust = world.run(&["trust", "profile"]).out;
    for told in [
        "the hook `free` runs without a sandbox",
        "the hook `far` may reach the network",
        "the MCP server `files` runs without a sandbox",
    ] {
        assert!(trust.contains(told), "{trust}");
    }
    assert!(!trust.contains("near") && !trust.contains("other"), "{trust}");
    std::fs::write(world.data("pintle.toml"), "[sandbox]\nallow_wider_hooks = false\n").unwrap();
    let said = world.ask("list .");
    assert!(!said.ok && said.err.contains("has not allowed a wider sandbox"), "{said:?}");
    assert!(said.err.contains("agent.json:"), "{said:?}");
}
