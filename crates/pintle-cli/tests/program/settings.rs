//! `pintle.toml` and agent.json, wrong in every way at once: lint, doctor and chat say it all.

use insta::assert_snapshot;

use crate::support::World;

// R10.4, R10.8
#[test]
fn what_is_wrong_in_both_files_is_said_at_once() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let file = "levl = \"strict\"\napprovers = \"alice\"\n";
    std::fs::write(world.data().join("pintle.toml"), file).unwrap();
    world.write(
        "bad/agent.json",
        "{\n  \"nam\": \"x\",\n  \"limits\": { \"maxTurns\": \"3\" }\n}\n",
    );
    world.write("good/agent.json", "{}");
    let chat = ["chat", "-q", "list .", "--profile", "bad"];
    assert_snapshot!(world.transcript(&[
        &["hooks", "lint", "bad"],
        &["hooks", "lint", "good"],
        &chat,
        &["hooks", "list", "--profile", "bad"],
    ]));
}

// R11.5: somebody who can be asked is somebody.
#[test]
fn approvers_that_nobody_is_are_told_by_lint_and_doctor() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    world.write("good/agent.json", "{}");
    let file = world.data().join("pintle.toml");
    let commands: [&[&str]; 3] =
        [&["hooks", "lint", "good"], &["doctor", "--profile", "good"], &["doctor", "--json"]];
    std::fs::write(&file, "approvers = [\"operator\", \"operatr\", \"qqzzqqzz\"]\n").unwrap();
    let some = world.transcript(&commands);
    std::fs::write(&file, "approvers = [\"qqzzqqzz\"]\n").unwrap();
    assert_snapshot!(format!("{some}\n{}", world.transcript(&commands)));
}

// R10.8: never by the profile.
#[test]
fn settings_that_nobody_reads_are_told() {
    let world = World::new();
    world.write("good/agent.json", "{}");
    world.write("good/pintle.toml", "level = \"paranoid\"\n");
    assert_snapshot!(world.transcript(&[&["hooks", "lint", "good"]]));
}

// R11.1: `*` is wherever there is a command, or a path.
#[test]
fn a_guard_for_all_tools_refuses_no_call_that_has_nothing_to_judge() {
    let world = World::new();
    world.write(
        "good/agent.json",
        r#"{ "policies": [
  { "tool": "*", "kind": "shell", "deny": ["rm *"] },
  { "tool": "*", "kind": "path", "allow": ["**"] }
] }"#,
    );
    let call =
        |tool, args| ["hooks", "explain", "--tool", tool, "--args", args, "--profile", "good"];
    assert_snapshot!(world.transcript(&[
        &["hooks", "lint", "good"],
        &call("read_file", r#"{"path": "a.txt"}"#),
        &call("delegate", r#"{"task": "x"}"#),
        &call("terminal", r#"{"command": "ls"}"#),
        &call("terminal", r#"{"command": "rm a"}"#),
    ]));
    world.write(
        "bad/agent.json",
        r#"{ "policies": [
  { "tool": "read_file", "kind": "shell", "deny": ["rm *"] },
  { "tool": "delegate", "kind": "path", "deny": ["secrets"] },
  { "tool": "delegate", "kind": "json", "deny": ["/tsk=*secret*"] }
] }"#,
    );
    assert_snapshot!(world.transcript(&[&["hooks", "lint", "bad"]]));
}

#[test]
fn a_machine_gets_each_error_with_its_place() {
    let world = World::new();
    world.write("bad/agent.json", "{\n  \"nam\": \"x\",\n}\n");
    let said = world.run(&["hooks", "lint", "bad", "--json"]);
    assert_eq!(said.code, Some(1));
    let errors = &said.json()["error"]["errors"];
    assert_snapshot!(serde_json::to_string_pretty(errors).unwrap());
}

// P6: a gate that cannot run blocks everything.
#[test]
fn a_gate_whose_program_cannot_be_started_is_told_by_lint_and_doctor() {
    let world = World::new();
    world.write("gated/hooks/gate.sh", "#!/bin/sh\n");
    let hook = |run: &str| {
        format!(r#"{{ "hooks": {{ "onToolCall": [{{ "action": "command", {run} }}] }} }}"#)
    };
    let told = |run: &str| {
        world.write("gated/agent.json", hook(run));
        let allowed = |arguments: &[&str]| {
            let mut command = world.command(arguments);
            let output = command.env("PINTLE_ALLOW_COMMAND_HOOKS", "1").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        allowed(&["trust", "gated", "--accept"]);
        let (lint, doctor) =
            (allowed(&["hooks", "lint", "gated"]), allowed(&["doctor", "--profile", "gated"]));
        (lint, doctor)
    };
    for (run, why) in [
        (
            r#""argv": ["qqzz-uv", "run", "hooks/gate.sh"]"#,
            "there is no program `qqzz-uv` on the PATH",
        ),
        (r#""argv": ["sh", "hooks/gat.sh"]"#, "there is no script `hooks/gat.sh`"),
        (r#""argv": ["hooks/gate.sh"]"#, "`hooks/gate.sh` may not be executed"),
    ] {
        let (lint, doctor) = told(run);
        assert!(lint.contains(why) && doctor.contains(why), "{run}: {lint} {doctor}");
        assert!(!doctor.contains("all is well"), "{doctor}");
    }
    for run in [
        r#""argv": ["sh", "hooks/gate.sh"]"#,
        r#""command": "sh hooks/gate.sh""#,
        r#""command": "case $X in a) qqzz-uv;; esac; sh hooks/gate.sh""#,
        r#""command": "command -v qqzz-uv && qqzz-uv run x; sh hooks/gate.sh""#,
    ] {
        let (lint, doctor) = told(run);
        assert!(!lint.contains("PATH") && !doctor.contains("PATH"), "{run}: {lint} {doctor}");
    }
}
