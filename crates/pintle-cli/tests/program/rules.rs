//! R11.7: a yes to all that fits a rule, for a session or for good. What was pushed is the witness of what ran.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    support::{PATIENCE, World},
    terminal::{keys, play, wait, wait_for_prompt, wait_for_question},
};

const MINE: &str = "# Mine.\nlevel = \"standard\" # as ever\n\n[hook_env]\nTEAM = \"red\"\n";

/// A repository with a commit, and another to push to.
pub(crate) fn repository() -> World {
    let world = World::new();
    let commit = "git init -q . && git init -q --bare far.git && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", commit]).current_dir(world.file("")).envs(world.environment());
    assert!(shell.status().unwrap().success());
    std::fs::create_dir(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), MINE).unwrap();
    world
}

pub(crate) fn push(branch: &str) -> String {
    format!("git push -q far.git HEAD:refs/heads/{branch}")
}

pub(crate) fn was_pushed(world: &World, branch: &str) -> bool {
    world.file("far.git/refs/heads").join(branch).exists()
}

/// A model that runs these lines one after the other, each in a turn of its own; `None` ends a run.
pub(crate) fn running(world: &World, lines: &[Option<String>]) -> String {
    let turn = |line: &Option<String>| match line {
        Some(line) => {
            json!({"toolCalls": [{"id": "t1", "name": "terminal", "input": {"command": line}}]})
        }
        None => json!({"text": "End."}),
    };
    world.script("lines.json", &lines.iter().map(turn).collect::<Vec<_>>().into())
}

fn answer(keys_typed: &str) -> [Value; 2] {
    [wait_for_question(), keys(keys_typed)]
}

fn rules(world: &World) -> Value {
    world.run(&["approvals", "rules", "--json"]).json()
}

/// The same program beside the one at the terminal.
fn beside(world: &World, arguments: &str) -> Value {
    let data = world.data().display().to_string();
    let line = format!("{} --data {data} {arguments}", env!("CARGO_BIN_EXE_pintle"));
    json!({"run": ["/bin/sh", "-c", line]})
}

#[test]
fn a_covers_what_fits_and_nothing_else_until_the_program_ends() {
    let world = repository();
    let more = format!("{} && touch marker", push("three"));
    let lines = [
        Some(push("one")),
        Some(push("two")),
        Some(more),
        None,
        Some(push("four")),
        None,
        Some(push("five")),
        None,
    ];
    let model = running(&world, &lines);
    let mut steps = vec![wait_for_prompt(), keys("go\r")];
    steps.push(wait("yes, and every `git push *`"));
    steps.extend(answer("a"));
    steps.push(wait("`git push *` is not asked about again in this conversation"));
    // The second line is not asked about; the third does more than push.
    steps.push(wait(" marker"));
    steps.extend(answer("n"));
    steps.extend([wait("End."), wait_for_prompt()]);
    steps.push(beside(&world, "approvals rules --json > listed.json"));
    // It stands for the rest of the session, and a new one begins without it.
    steps.extend([keys("go on\r"), wait("End."), wait_for_prompt(), keys("/new\r")]);
    steps.extend([wait_for_prompt(), keys("go\r")]);
    steps.extend(answer("n"));
    steps.extend([wait("End."), wait_for_prompt(), keys("/quit\r")]);
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    for (branch, runs) in
        [("one", true), ("two", true), ("three", false), ("four", true), ("five", false)]
    {
        assert_eq!(was_pushed(&world, branch), runs, "{branch}: {}", screen.text);
    }
    assert!(!world.file("marker").exists(), "{}", screen.text);
    let listed: Value =
        serde_json::from_slice(&std::fs::read(world.file("listed.json")).unwrap()).unwrap();
    let [rule] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
    for (field, value) in [("tool", "terminal"), ("allow", "git push *"), ("zone", "network")] {
        assert_eq!(rule[field], value, "{listed}");
    }
    assert_eq!((&rule["number"], &rule["scope"]), (&json!(1), &json!("session")), "{listed}");

    // It ended with the program.
    assert_eq!(rules(&world), json!([]));
    let model = running(&world, &[Some(push("six")), None]);
    world.run(&["chat", "-q", "go", "--model", &model]);
    assert!(!was_pushed(&world, "six"));
    let toml = std::fs::read_to_string(world.data().join("pintle.toml")).unwrap();
    assert_eq!(toml, MINE);
}

#[test]
fn capital_a_writes_the_rule_to_pintle_toml_and_it_holds_until_it_is_revoked() {
    let world = repository();
    let model = running(&world, &[Some(push("one")), Some(push("two")), None, None]);
    let mut steps = vec![wait_for_prompt(), keys("go\r")];
    steps.push(wait("yes, always: adds that rule to"));
    steps.extend(answer("A"));
    // The change of the file is shown, and asked about once more.
    steps.push(wait("[[approvals]] tool = "));
    steps.extend(answer("n"));
    steps.extend(answer("A"));
    steps.extend(answer("y"));
    steps.extend([wait("`git push *` is not asked about again in this folder"), wait("End.")]);
    // Nothing else in the file changed, and so the agent stays the one it is.
    steps.extend([wait_for_prompt(), keys("go on\r"), wait("End.")]);
    steps.extend([wait_for_prompt(), keys("/quit\r")]);
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(was_pushed(&world, "one") && was_pushed(&world, "two"), "{}", screen.text);
    assert!(!screen.text.contains("pintle.toml changed"), "{}", screen.text);
    let file = world.data().join("pintle.toml");
    let toml = std::fs::read_to_string(&file).unwrap();
    let table =
        "\n[[approvals]]\ntool = \"terminal\"\nallow = \"git push *\"\nzone = \"network\"\n";
    assert!(toml.starts_with(&format!("{MINE}{table}")), "{toml}");

    // No one is there to ask, and no one has to be.
    let once = |branch: &str| {
        let model = running(&world, &[Some(push(branch)), None]);
        let said = world.run(&["chat", "-q", "go", "--model", &model, "--json"]).lines();
        let mut resolved = said.into_iter().filter(|it| it["type"] == "approval.resolved");
        resolved.next().map(|it| it["by"].clone())
    };
    assert_eq!(once("three"), Some("the rule `git push *` (always, pintle.toml:7)".into()));
    assert!(was_pushed(&world, "three"));
    let explain = |args: Value| {
        let args = args.to_string();
        world.run(&["hooks", "explain", "--tool", "terminal", "--args", &args])
    };
    let said = explain(json!({"command": push("x")}));
    let covered = "covered by the rule `git push *` (always, pintle.toml:7)";
    assert!(said.out.contains(covered) && said.out.contains("→ run"), "{said}");
    // A folder elsewhere is zone machine, and so is what the rule does not cover.
    for asked in [
        json!({"command": push("x"), "cwd": "/"}),
        json!({"command": "sudo git push"}),
        json!({"command": "git push; git fetch"}),
    ] {
        let said = explain(asked);
        assert!(said.out.contains("ask"), "{said}");
    }
    let elsewhere = world.file("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let args = json!({"command": push("x")}).to_string();
    let mut there = world.command(&["hooks", "explain", "--tool", "terminal", "--args", &args]);
    let said = world.said(there.current_dir(&elsewhere).output().unwrap());
    assert!(said.out.contains("ask"), "in another folder: {said}");

    let listed = world.run(&["approvals", "rules"]).out;
    assert!(listed.contains("git push *") && listed.contains("always"), "{listed}");
    assert_eq!(rules(&world)[0]["scope"], "always");
    assert_eq!(world.run(&["approvals", "rules", "--revoke", "2"]).code, Some(1));
    let revoked = world.run(&["approvals", "rules", "--revoke", "1"]);
    assert_eq!(revoked.out, "revoked git push * (always, pintle.toml:7)\n", "{revoked}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), MINE);
    assert_eq!(once("four"), Some(Value::Null));
    assert!(!was_pushed(&world, "four"));
}

#[test]
fn a_rule_that_is_revoked_elsewhere_is_asked_about_at_once() {
    let world = repository();
    let model = running(&world, &[Some(push("one")), None, Some(push("two")), None]);
    let mut steps = vec![wait_for_prompt(), keys("go\r")];
    steps.extend(answer("a"));
    steps.extend([wait("End."), wait_for_prompt()]);
    steps.push(beside(&world, "approvals rules --revoke 1"));
    steps.push(keys("go on\r"));
    steps.extend(answer("n"));
    steps.extend([wait("End."), wait_for_prompt(), keys("/quit\r")]);
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(was_pushed(&world, "one") && !was_pushed(&world, "two"), "{}", screen.text);
}

#[test]
fn where_no_rule_is_offered_only_yes_is_yes() {
    let world = repository();
    let line = format!("env {}", push("one"));
    let model = running(&world, &[Some(line), None]);
    let mut steps = vec![wait_for_prompt(), keys("go\r")];
    steps.push(wait("no rule is offered: none would be narrow enough"));
    steps.extend(answer("a"));
    steps.extend([wait("use one of these keys: y n r d"), keys("y")]);
    steps.extend([wait("End."), wait_for_prompt(), keys("/quit\r")]);
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(was_pushed(&world, "one") && !screen.text.contains("and every"), "{}", screen.text);
    assert_eq!(rules(&world), json!([]));
}

#[test]
fn a_rule_can_be_approved_from_another_terminal() {
    let world = repository();
    let model = running(&world, &[Some(push("one")), Some(push("two")), None]);
    let asked = world.start(&["chat", "-q", "go", "--wait-for-approval", "--model", &model]);
    let id = world.pending()["id"].as_str().unwrap().to_string();
    let shown = world.run(&["approvals", "show", &id]);
    assert!(shown.out.contains("all `git push *`"), "{shown}");
    let said = world.run(&["approvals", "approve", &id, "--session"]);
    assert!(said.out.contains("and all `git push *` in its session"), "{said}");
    let since = std::time::Instant::now();
    while !was_pushed(&world, "two") {
        assert!(since.elapsed() < PATIENCE, "the second push was asked about");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(asked.wait_with_output().unwrap().status.success());
}

#[test]
fn a_rule_of_the_operator_holds_for_its_zone_and_not_for_what_a_profile_asks() {
    let world = repository();
    let file = world.data().join("pintle.toml");
    let verdict = |rule: &str, more: &[&str]| {
        std::fs::write(&file, format!("approvers = [\"operator\"]\n[[approvals]]\n{rule}\n"))
            .unwrap();
        let args = json!({"command": push("x")}).to_string();
        let explain = ["hooks", "explain", "--json", "--tool", "terminal", "--args", &args];
        world.run(&[&explain, more].concat()).json()["verdict"].as_str().unwrap().to_string()
    };
    let (runs, asks) = ("run", "ask");
    let rule =
        |zone: &str| format!("tool = \"terminal\"\nallow = \"git push *\"\nzone = \"{zone}\"");
    assert_eq!(verdict(&rule("build"), &[]), asks);
    assert_eq!(verdict(&rule("network"), &[]), runs);
    assert_eq!(verdict(&rule("machine"), &[]), runs);
    // A rule lasts no longer than the right to give it.
    assert_eq!(verdict(&format!("{}\nby = \"operator\"", rule("network")), &[]), runs);
    assert_eq!(verdict(&format!("{}\nby = \"mallory\"", rule("network")), &[]), asks);
    assert!(world.run(&["approvals", "rules"]).out.contains("does not hold"));
    let asking = json!({"hooks": {"onToolCall": [{"action": "approve", "tools": ["terminal"]}]}});
    world.write("asking/agent.json", asking.to_string());
    assert_eq!(verdict(&rule("network"), &["--profile", "asking"]), asks);
}
