//! Whatever a model, a tool, a profile or a file says: it is seen, and it moves, hides, colours or reorders nothing.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Said, World};

/// Moves the cursor, clears the screen, hides, reverses, joins and breaks lines, each in more than one way.
const HOSTILE: &str = "MARK\u{1b}[5F\u{1b}[J\u{1b}]0;t\u{7}\u{9b}2J\u{8}\u{7f}\u{85}\u{202e}\u{2066}\u{2069}\u{200e}\
                       \u{200f}\u{61c}\u{200b}\u{200d}\u{ad}\u{feff}\u{2028}\u{e0041}\r\nFORGED\u{b}";

fn is_seen(c: char) -> bool {
    let unseen = "\u{ad}\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\
                  \u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\u{e0041}";
    c == '\n' || !c.is_control() && !unseen.contains(c)
}

#[derive(Clone, Copy, PartialEq)]
enum Lines {
    /// Each line is ours: a line break is written out too.
    Ours,
    /// The text may have lines of its own.
    Free,
}

fn assert_harmless(what: &str, said: &Said, lines: Lines) {
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("MARK"), "{what} does not show it: {said}");
    let raw: Vec<char> = all.chars().filter(|c| !is_seen(*c)).collect();
    assert!(raw.is_empty(), "{what}: {raw:?} in {all:?}");
    let forged = all.lines().any(|line| line.starts_with("FORGED"));
    assert!(lines == Lines::Free || !forged, "{what}: {all}");
}

/// A model that says it, calls a tool of that name, calls tools with it, and says it again.
fn hostile_model(world: &World) -> String {
    let call = |id: &str, name: &str, input: Value| json!({"id": id, "name": name, "input": input});
    let path = format!("/etc/{HOSTILE}");
    world.script(
        "hostile.json",
        &json!([
            {"text": HOSTILE, "toolCalls": [call("t1", HOSTILE, json!({}))]},
            {"toolCalls": [call("t2", "read_file", json!({"path": HOSTILE, HOSTILE: 1}))]},
            {"toolCalls": [call("t3", "list_dir", json!({"path": "."})), call("t4", "read_file", json!({"path": path}))]},
            {"text": HOSTILE},
        ]),
    )
}

#[test]
fn runs_and_their_records_show_it() {
    let world = World::new();
    let model = hostile_model(&world);
    let chat = ["chat", "--model", &model, "--session", HOSTILE];
    assert_harmless("the conversation", &world.piped(&chat, b"hello\n"), Lines::Free);
    let one = [&chat[..], &["--new", "-q", HOSTILE]].concat();
    assert_harmless("the answer", &world.run(&one), Lines::Free);
    assert_harmless("the events", &world.run(&[&one[..], &["--json"]].concat()), Lines::Ours);
    let failing = json!([{"error": {"code": "auth", "message": HOSTILE}}]);
    let failing = world.script("failing.json", &failing);
    let failed = world.run(&["chat", "-q", "hello", "--model", &failing, "--session", HOSTILE]);
    assert_harmless("the failure", &failed, Lines::Ours);
    let failed = world.piped(&["chat", "--model", &failing, "--session", HOSTILE], b"hello\n");
    assert_harmless("the failure in a conversation", &failed, Lines::Ours);
    let sessions: [&[&str]; 6] = [
        &["list"],
        &["list", "--json"],
        &["show", HOSTILE],
        &["show", HOSTILE, "--json"],
        &["export", HOSTILE],
        &["delete", HOSTILE],
    ];
    for arguments in sessions {
        let said = world.run(&[&["sessions"], arguments].concat());
        assert_harmless(&format!("sessions {arguments:?}"), &said, Lines::Ours);
    }
    // The last run failed; the one before has the calls.
    let runs = world.run(&one);
    assert_harmless("the answer", &runs, Lines::Free);
    assert_harmless("the trace", &world.run(&["trace"]), Lines::Ours);
    assert_harmless("the trace for machines", &world.run(&["trace", "--json"]), Lines::Ours);
}

#[test]
fn questions_show_it() {
    let world = World::new();
    let call =
        json!({"id": "t1", "name": "read_file", "input": {"path": format!("/etc/{HOSTILE}")}});
    let model = world.script("asks.json", &json!([{"toolCalls": [call]}, {"text": "Well."}]));
    let mut child = world.start(&["chat", "-q", "go", "--model", &model, "--wait-for-approval"]);
    let asked = Instant::now();
    let id = loop {
        let open = world.run(&["approvals", "list", "--json"]).json();
        match open[0]["id"].as_str() {
            Some(id) => break id.to_string(),
            None => assert!(asked.elapsed() < PATIENCE, "nobody asks"),
        }
    };
    let outlets = [&["list", "--json"][..], &["show", &id], &["show", &id, "--json"]];
    let said = outlets.map(|outlet| world.run(&[&["approvals"], outlet].concat()));
    child.kill().unwrap();
    child.wait().unwrap();
    for (outlet, said) in outlets.iter().zip(&said) {
        assert_harmless(&format!("approvals {outlet:?}"), said, Lines::Ours);
    }
    let denied = world.run(&["approvals", "deny", &id, "--reason", HOSTILE, "--model", "offline"]);
    assert_eq!(denied.code, Some(0), "{denied}");
    assert_harmless("the answer", &world.run(&["approvals", "show", &id]), Lines::Ours);
}

const CALL: [&str; 6] = ["hooks", "explain", "--tool", "list_dir", "--args", "{\"path\": \".\"}"];
const FIRE: [&str; 5] = ["hooks", "fire", "tool.pre", "--payload", "call.json"];

fn write_call(world: &World) {
    let call = json!({"toolCallId": "t1", "toolName": "list_dir", "toolInput": {}, "zone": 0});
    world.write("call.json", call.to_string());
}

// What a profile's hooks say, and its prompt, which may have marks that some scripts need.
#[test]
fn profiles_and_their_hooks_show_it() {
    let world = World::new();
    let script = "cat ../said >&2; exit 1";
    let block = json!([{"action": "command", "name": "block", "command": script}]);
    let needed = "\r\u{61c}\u{200d}\u{200e}\u{200f}";
    let prompt: String = HOSTILE.chars().filter(|c| is_seen(*c) || needed.contains(*c)).collect();
    let profile = json!({"name": "p", "personalities": {"a": {"prompt": prompt}}, "hooks": {"onToolCall": block}});
    world.write("profile/agent.json", profile.to_string());
    world.write("said", HOSTILE);
    write_call(&world);
    let allowed = [("PINTLE_ALLOW_COMMAND_HOOKS", "1")];
    let data = world.data().display().to_string();
    let run = |arguments: &[&str]| world.bare(&[&["--data", &data], arguments].concat(), &allowed);
    let with = |arguments: &[&str]| run(&[arguments, &["--profile", "profile"]].concat());
    let accepted = run(&["trust", "profile", "--accept"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    let fire_json = [&FIRE[..], &["--json"]].concat();
    let outlets: [(&[&str], Lines); 6] = [
        (&FIRE, Lines::Ours),
        (&fire_json, Lines::Ours),
        (&CALL, Lines::Ours),
        (&["doctor", "--show-prompt"], Lines::Free),
        (&["doctor", "--show-prompt", "--json"], Lines::Ours),
        (&["chat", "-q", "list ."], Lines::Free),
    ];
    for (arguments, lines) in outlets {
        assert_harmless(&format!("{arguments:?}"), &with(arguments), lines);
    }
}

// Names that hide something do not load: the error shows them, wherever it is told.
#[test]
fn profiles_that_do_not_load_show_it() {
    let world = World::new();
    let profile = json!({
        "name": HOSTILE,
        "personalities": {HOSTILE: {"prompt": HOSTILE}},
        "hooks": {"onStart": [{"action": "log", "name": HOSTILE}]},
    });
    world.write("profile/agent.json", profile.to_string());
    write_call(&world);
    let run = |arguments: &[&str]| world.run(arguments);
    let outlets: [&[&str]; 6] = [
        &["hooks", "list"],
        &["hooks", "list", "--json"],
        &FIRE,
        &CALL,
        &["doctor", "--show-prompt"],
        &["chat", "-q", "list ."],
    ];
    for arguments in outlets {
        let said = run(&[arguments, &["--profile", "profile"]].concat());
        assert_eq!(said.code, Some(1), "{said}");
        assert_harmless(&format!("{arguments:?}"), &said, Lines::Ours);
    }
    assert_harmless("hooks lint", &run(&["hooks", "lint", "profile"]), Lines::Ours);
    assert_harmless("trust", &run(&["trust", "profile"]), Lines::Ours);
    world.write(&format!("{HOSTILE}/agent.json"), "{}");
    assert_harmless("the folder", &run(&["trust", HOSTILE]), Lines::Ours);
    world.write("broken/agent.json", json!({HOSTILE: 1, "hooks": {HOSTILE: HOSTILE}}).to_string());
    assert_harmless("an error in a profile", &run(&["hooks", "lint", "broken"]), Lines::Free);
    world.write("raw/agent.json", format!("{{ \"name\": {HOSTILE} }}"));
    assert_harmless("an error in its text", &run(&["hooks", "lint", "raw"]), Lines::Free);
}

#[test]
fn errors_show_it() {
    let world = World::new();
    let wrong: [&[&str]; 10] = [
        &[HOSTILE],
        &["chat", HOSTILE],
        &["chat", "-q", "hello", "--model", HOSTILE],
        &["chat", "-q", "hello", "--personality", HOSTILE],
        &["chat", "-q", "hello", "--profile", HOSTILE],
        &["sessions", "show", HOSTILE],
        &["approvals", "show", HOSTILE],
        &["trace", HOSTILE],
        &["hooks", "schema", HOSTILE],
        &["hooks", "fire", "tool.pre", "--payload", HOSTILE],
    ];
    for arguments in wrong {
        let said = world.run(arguments);
        assert_ne!(said.code, Some(0), "{said}");
        // What a person types wrong is shown to them as they typed it, line by line.
        let lines = if said.code == Some(2) { Lines::Free } else { Lines::Ours };
        assert_harmless(&format!("{arguments:?}"), &said, lines);
    }
    let said = world.piped(&["chat"], format!("/{}\n", HOSTILE.replace('\n', "")).as_bytes());
    assert_harmless("a command that is none", &said, Lines::Ours);
    assert_harmless("init", &world.run(&["init", HOSTILE]), Lines::Ours);
}
