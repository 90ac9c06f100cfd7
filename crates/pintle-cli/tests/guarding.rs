//! A profile guards an agent, through the program: what it may do, what the operator allows, and what happens when a
//! guard is missing, changed or broken. The witness is a file that must not be there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

struct World {
    folder: TempDir,
    operator: Vec<(&'static str, &'static str)>,
}

impl World {
    fn new(agent: &Value) -> Self {
        let world = Self { folder: TempDir::new().unwrap(), operator: Vec::new() };
        std::fs::create_dir_all(world.path("profile/hooks")).unwrap();
        world.write("profile/agent.json", &agent.to_string());
        world
    }

    fn operator(mut self, name: &'static str, value: &'static str) -> Self {
        self.operator.push((name, value));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn script(&self, text: &str) {
        self.write("profile/hooks/check.sh", text);
        let path = self.path("profile/hooks/check.sh");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn pintle(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
        command.args(arguments).current_dir(self.path("")).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.folder.path());
        command.env("PINTLE_DATA", self.folder.path().join("data")).envs(self.operator.clone());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.pintle(arguments).output().unwrap()
    }

    fn ask(&self, question: &str) -> Output {
        self.run(&["chat", "--profile", "profile", "-q", question])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn with_command() -> World {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "name": "check" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    world.script("#!/bin/sh\ncat >/dev/null\n");
    world.operator("PINTLE_ALLOW_COMMAND_HOOKS", "1")
}

// R10.8
#[test]
fn a_profile_that_runs_programs_says_how_to_allow_it() {
    let mut world = with_command();
    world.operator.clear();
    let output = world.ask("write a.txt: x");
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("PINTLE_ALLOW_COMMAND_HOOKS=1"),
        "{}",
        text(&output.stderr)
    );
    assert!(!world.run(&["hooks", "lint", "profile"]).status.success());
    assert!(!world.path("a.txt").exists());
}

// R10.9
#[test]
fn a_script_runs_only_as_it_was_trusted() {
    let world = with_command();
    let untrusted = world.ask("write a.txt: x");
    assert!(text(&untrusted.stdout).contains("not trusted"), "{}", text(&untrusted.stdout));
    assert!(!world.path("a.txt").exists());

    let shown = world.run(&["trust", "profile"]);
    assert!(text(&shown.stdout).contains("hooks/check.sh"), "{}", text(&shown.stdout));
    assert!(world.run(&["trust", "profile", "--accept"]).status.success());
    world.ask("write a.txt: x");
    assert!(world.path("a.txt").exists());

    world.script("#!/bin/sh\n# now somebody else's\ncat >/dev/null\n");
    let changed = world.ask("write b.txt: x");
    assert!(
        text(&changed.stdout).contains("changed since it was trusted"),
        "{}",
        text(&changed.stdout)
    );
    assert!(!world.path("b.txt").exists());

    std::fs::remove_file(world.path("profile/hooks/check.sh")).unwrap();
    world.ask("write c.txt: x");
    assert!(!world.path("c.txt").exists(), "a script that is gone blocks");
}

// P2, R8.1, R8.3
#[test]
fn a_script_that_says_no_crashes_hangs_or_talks_nonsense_blocks() {
    for (script, reason) in [
        ("echo 'not on a Friday' >&2; exit 1", "not on a Friday"),
        ("kill -9 $$", "signal 9"),
        ("sleep 60", "timed out"),
        ("echo '{\"continue\": \"maybe\"}'", "cannot be understood"),
        ("exit 127", "127"),
    ] {
        let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "timeoutMs": 500 });
        let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }))
            .operator("PINTLE_ALLOW_COMMAND_HOOKS", "1");
        world.script(&format!("#!/bin/sh\n{script}\n"));
        world.run(&["trust", "profile", "--accept"]);
        let output = world.ask("write a.txt: x");
        assert!(!world.path("a.txt").exists(), "{script}");
        assert!(text(&output.stdout).contains(reason), "{script}: {}", text(&output.stdout));
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
    assert!(text(&output.stderr).contains("switches off"), "{}", text(&output.stderr));
    assert!(world.path("a.txt").exists() && !world.path("profile/log").exists());
    assert!(text(&world.ask("list .").stdout).contains("no one to ask"));
    world.ask("write secret: x");
    assert!(!world.path("secret").exists());
}

// R11.3
#[test]
fn a_profile_cannot_loosen_the_floor() {
    let world = World::new(&json!({ "security": { "level": "permissive" } }));
    let output = world.ask("write a.txt: x");
    assert!(
        text(&output.stderr).contains("looser than the operator's"),
        "{}",
        text(&output.stderr)
    );
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
        serde_json::from_slice::<Value>(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let denied = explain(r#"{"command": "touch ran; git push origin main"}"#);
    let last = denied["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["step"], &last["source"]), (&json!("guards"), &json!("agent.json:1")));
    assert_eq!(denied["verdict"], "refuse");

    let runs = explain(r#"{"command": "touch ran"}"#);
    assert_eq!(runs["verdict"], "run");
    let asked = explain(r#"{"command": "touch ran", "zone": "network", "why": "to fetch it"}"#);
    let steps: Vec<_> =
        asked["steps"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    assert_eq!(
        steps,
        ["known tool", "toolset", "guards", "sandbox", "zone", "tool.pre", "approval", "rule"]
    );
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
        let said: Value = serde_json::from_slice(&world.run(&arguments).stdout).unwrap();
        let steps = said["steps"].as_array().unwrap().clone();
        let found = steps.iter().find(|found| found["step"] == step).unwrap();
        (found["source"].as_str().unwrap_or_default().to_string(), found["finding"].clone())
    };
    let world = World::new(&json!({}));
    assert_eq!(source(&world, "zone", "a").0, "the default level");
    std::fs::create_dir_all(world.folder.path().join("data")).unwrap();
    std::fs::write(world.folder.path().join("data/pintle.toml"), "level = \"strict\"\n").unwrap();
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
    world.script("#!/bin/sh\ncat >/dev/null; echo 'closed' >&2; exit 1\n");
    world.run(&["trust", "profile", "--accept"]);
    let call = json!({ "toolCallId": "1", "toolName": "write_file", "toolInput": {}, "zone": 1 });
    world.write("call.json", &call.to_string());
    let arguments =
        ["hooks", "fire", "tool.pre", "--payload", "call.json", "--profile", "profile", "--json"];
    let output = world.run(&arguments);
    assert!(!output.status.success(), "a block is a failure of the command");
    let fired: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fired["handlers"][0]["name"], "check");
    assert_eq!(fired["outcome"]["blocks"][0]["reason"], "closed");

    let unknown = world.run(&["hooks", "fire", "tool.pree", "--payload", "call.json"]);
    assert!(
        text(&unknown.stderr).contains("did you mean `tool.pre`?"),
        "{}",
        text(&unknown.stderr)
    );
}

// P6
#[test]
fn list_shows_the_state_of_every_hook() {
    let world = with_command();
    let state = |name: &str| {
        let output = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
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
    let mut chat = world
        .pintle(&["chat", "--profile", "profile"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = chat.stdin.take().unwrap();
    let mut say = |line: &str| writeln!(stdin, "{line}").unwrap();
    let appears = |name: &str| {
        let until = Instant::now() + Duration::from_secs(60);
        while !world.path(name).exists() {
            assert!(Instant::now() < until, "{name} did not appear");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    say("write a.txt: x");
    appears("a.txt");
    let policy =
        json!({ "policies": [{ "tool": "write_file", "kind": "path", "deny": ["denied-*"] }] });
    world.write("profile/agent.json", &policy.to_string());
    say("write denied-1.txt: x");
    say("write b.txt: x");
    appears("b.txt");
    world.write("profile/agent.json", "{ broken");
    say("write denied-2.txt: x");
    say("write c.txt: x");
    appears("c.txt");
    drop(stdin);
    let output = chat.wait_with_output().unwrap();
    assert!(!world.path("denied-1.txt").exists() && !world.path("denied-2.txt").exists());
    let said = text(&output.stderr);
    assert!(
        said.contains("the new one is in force") && said.contains("the old one stays in force"),
        "{said}"
    );
}

// R10.8: a server is a program too.
#[test]
fn a_profile_cannot_start_an_mcp_server_that_the_operator_has_not_allowed() {
    let server = json!({ "command": "touch", "args": ["started"] });
    let world = World::new(&json!({ "mcpServers": { "sneaky": server } }));
    let output = world.ask("list .");
    assert!(
        text(&output.stderr).contains("PINTLE_ALLOW_COMMAND_HOOKS=1"),
        "{}",
        text(&output.stderr)
    );
    assert!(!world.path("profile/started").exists() && !world.path("started").exists());
}
