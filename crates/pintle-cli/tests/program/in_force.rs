//! R10.10: which profile is in force, how it was found, and that a person accepts one that nobody named.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use crate::{
    support::{Said, World},
    terminal::{CTRL_C, CTRL_D, keys, play, wait, wait_for_prompt, wait_for_question},
};

const LISTS: [&str; 2] = ["hooks", "list"];

/// A profile that refuses to read secrets.
fn guarded(name: &str) -> String {
    let guard = json!({"tool": "read_file", "kind": "path", "deny": ["secret.txt"]});
    json!({"name": name, "policies": [guard]}).to_string()
}

/// A world with a repository: a profile at its root, and a folder deep inside.
fn repository() -> World {
    let world = World::new();
    world.write(".git/config", "");
    world.write("agent.json", guarded("root"));
    world.write("src/deep/secret.txt", "s3cret");
    world
}

fn run_in(world: &World, folder: &str, arguments: &[&str]) -> Said {
    world.said(world.command(arguments).current_dir(world.file(folder)).output().unwrap())
}

fn accept(world: &World, dir: &str) {
    let said = world.run(&["trust", dir, "--accept"]);
    assert_eq!(said.code, Some(0), "{said}");
}

/// The line that says which profile is in force.
fn in_force(said: &Said) -> String {
    let first = said.out.split("\n\n").next().unwrap_or_default();
    first.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_flag_goes_before_the_variable_and_both_before_what_lies_around() {
    let world = repository();
    for name in ["flag", "variable"] {
        world.write(&format!("{name}/agent.json"), guarded(name));
    }
    let variable = ("PINTLE_PROFILE", "variable");
    let run = |arguments: &[&str]| {
        let all = [&LISTS[..], arguments].concat();
        world.said(world.command(&all).env(variable.0, variable.1).output().unwrap())
    };
    assert!(in_force(&run(&["--profile", "flag"])).ends_with("./flag/agent.json, by --profile"));
    assert!(
        in_force(&run(&[])).ends_with("./variable/agent.json, by PINTLE_PROFILE"),
        "{}",
        run(&[])
    );
    assert_eq!(in_force(&run(&["--no-profile"])), "profile none · --no-profile");
}

#[test]
fn the_nearest_profile_up_to_the_root_of_the_repository_is_in_force() {
    let world = repository();
    accept(&world, ".");
    assert!(in_force(&world.run(&LISTS)).ends_with("./agent.json, found in this folder"));
    let deep = run_in(&world, "src/deep", &LISTS);
    assert!(in_force(&deep).starts_with("profile root · "), "{deep}");
    assert!(in_force(&deep).ends_with(", found above this folder"), "{deep}");
    world.write("src/.pintle/agent.json", guarded("nearer"));
    accept(&world, "src");
    let deep = run_in(&world, "src/deep", &LISTS);
    assert!(
        in_force(&deep).contains("nearer · ")
            && in_force(&deep).contains("src/.pintle/agent.json, found above"),
        "{deep}"
    );
    // Another repository is another project.
    world.write("other/.git/config", "");
    world.write("other/src/a.txt", "");
    assert!(in_force(&run_in(&world, "other/src", &LISTS)).starts_with("profile none"));
}

#[test]
fn without_a_repository_only_the_current_folder_is_looked_at() {
    let world = World::new();
    world.write("agent.json", guarded("root"));
    world.write("src/a.txt", "");
    accept(&world, ".");
    assert!(in_force(&world.run(&LISTS)).starts_with("profile root"));
    assert!(in_force(&run_in(&world, "src", &LISTS)).starts_with("profile none"));
}

#[test]
fn the_operator_names_a_profile_for_where_there_is_none() {
    let world = World::new();
    std::fs::create_dir_all(world.data().join("house")).unwrap();
    std::fs::write(world.data().join("house/agent.json"), guarded("house")).unwrap();
    std::fs::write(world.data().join("pintle.toml"), "profile = \"house\"\n").unwrap();
    let said = world.run(&LISTS);
    assert!(in_force(&said).starts_with("profile house"), "{said}");
    assert!(in_force(&said).ends_with(", by `profile` in pintle.toml"), "{said}");
    world.write("agent.json", guarded("here"));
    accept(&world, ".");
    assert!(in_force(&world.run(&LISTS)).starts_with("profile here"));
}

#[test]
fn an_unaccepted_profile_is_an_error_with_two_ways_out_where_no_one_can_be_asked() {
    let world = repository();
    world.write("payload.json", "{}");
    let commands: [&[&str]; 5] = [
        &["chat", "-q", "hello"],
        &["doctor"],
        &["hooks", "list"],
        &["hooks", "explain", "--tool", "list_dir", "--args", r#"{"path": "."}"#],
        &["hooks", "fire", "session.start", "--payload", "payload.json"],
    ];
    for command in commands {
        let said = world.run(command);
        assert_eq!(said.code, Some(1), "{command:?} {said}");
        let told = format!("{}{}", said.out, said.err);
        let ways = ["./agent.json is not trusted yet", "fix: pintle trust ", ", or --no-profile"];
        for part in ways {
            assert!(told.contains(part), "{command:?} {part} {said}");
        }
        let without = world.run(&[command, &["--no-profile"]].concat());
        assert!(!format!("{}{}", without.out, without.err).contains("trusted"), "{without}");
    }
    assert_eq!(world.run(&["chat", "--no-profile", "-q", "hello"]).code, Some(0));
    let json = world.run(&["chat", "--json", "-q", "hello"]).json();
    assert!(json["error"]["fix"].to_string().contains("--no-profile"), "{json}");
}

#[test]
fn an_accepted_profile_guards_until_it_changes() {
    let world = repository();
    accept(&world, ".");
    let read = || run_in(&world, "src/deep", &["chat", "-q", "read secret.txt"]);
    assert!(read().out.contains("I could not read"), "{}", read());
    world.write("agent.json", guarded("changed"));
    let said = read();
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("changed since it was trusted"), "{said}");
    assert!(!said.out.contains("s3cret"), "{said}");
    accept(&world, ".");
    assert!(read().out.contains("I could not read"));
}

#[test]
fn a_change_in_the_middle_of_a_conversation_leaves_the_accepted_one_in_force() {
    let world = repository();
    accept(&world, ".");
    world.write("secret.txt", "s3cret");
    let mut command = world.command(&["chat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut says = child.stdin.take().unwrap();
    writeln!(says, "write one.txt: x").unwrap();
    world.wait_for("one.txt");
    world.write("agent.json", r#"{"name": "loose"}"#);
    writeln!(says, "read secret.txt").unwrap();
    drop(says);
    let said = world.said(child.wait_with_output().unwrap());
    assert!(said.err.contains("the old version stays in force"), "{said}");
    assert!(!said.out.contains("s3cret"), "{said}");
}

#[test]
fn the_person_at_the_terminal_is_asked_once_and_told_what_it_does() {
    let world = repository();
    let webhook = json!({"action": "webhook", "url": "http://localhost:9/in"});
    let mut profile: Value = serde_json::from_str(&guarded("root")).unwrap();
    profile["hooks"] =
        json!({"onToolCall": [webhook, {"action": "approve", "tools": ["terminal"]}]});
    world.write("agent.json", serde_json::to_string_pretty(&profile).unwrap());
    let yes = [
        wait("found in this folder"),
        wait("asks      about terminal"),
        wait("guards    calls (1 in `policies`)"),
        wait("sends to  http://localhost:9/in"),
        wait_for_question(),
        keys("y"),
        wait("root · agent.json, found in this folder"),
        wait_for_prompt(),
        keys(CTRL_D),
    ];
    let screen = play(&world, &["chat"], &yes);
    assert_eq!(screen.code, 0, "{}", screen.text);
    let again = [wait("root · agent.json, found in this folder"), wait_for_prompt(), keys(CTRL_D)];
    let screen = play(&world, &["chat"], &again);
    assert!(screen.code == 0 && !screen.text.contains("Use this profile"), "{}", screen.text);
}

#[test]
fn a_change_is_shown_and_a_no_leaves_it_out_of_force() {
    let world = repository();
    accept(&world, ".");
    world.write("agent.json", guarded("another"));
    let no = [
        wait("changed"),
        wait("another\",\"policies"),
        wait_for_question(),
        keys("n"),
        wait("changed since it was trusted"),
    ];
    let screen = play(&world, &["chat"], &no);
    assert_eq!(screen.code, 1, "{}", screen.text);
}

#[test]
fn one_key_trusts_a_profile_and_enter_or_ctrl_c_does_not() {
    let world = repository();
    let leaves = [
        wait("Trust this change?"),
        wait_for_question(),
        keys("\r"),
        wait("use one of these keys: y n d"),
        keys(CTRL_C),
    ];
    let screen = play(&world, &["trust"], &leaves);
    assert!(screen.code == 130 && screen.reads_lines, "{}", screen.text);
    let asks = |key| [wait_for_question(), keys(key)];
    let screen = play(&world, &["trust"], &asks("n"));
    assert!(screen.code == 1 && screen.text.contains("not trusted"), "{}", screen.text);
    let chat = play(&world, &["chat"], &asks(CTRL_C));
    assert!(chat.code == 130 && chat.reads_lines, "{}", chat.text);
    assert_eq!(world.run(&["chat", "-q", "hello"]).code, Some(1), "it is not trusted yet");
    let screen = play(&world, &["trust"], &asks("y"));
    assert!(screen.code == 0 && screen.reads_lines, "{}", screen.text);
    assert_eq!(world.run(&["chat", "-q", "hello"]).code, Some(0));
}

#[test]
fn a_profile_that_does_not_load_is_never_passed_over() {
    let world = World::new();
    world.write("agent.json", "{ nonsense");
    let said = world.run(&["chat", "-q", "hello"]);
    assert!(said.code == Some(1) && said.err.contains("does not load"), "{said}");
    std::fs::remove_file(world.file("agent.json")).unwrap();
    std::os::unix::fs::symlink("/no/such/file", world.file("agent.json")).unwrap();
    assert_eq!(world.run(&["chat", "-q", "hello"]).code, Some(1));
}

#[test]
fn demo_and_init_go_by_no_profile_of_the_current_folder() {
    let world = World::new();
    world.write("agent.json", "{ nonsense");
    assert_eq!(world.run(&["demo", "--yes"]).code, Some(0));
    assert_eq!(world.run(&["init", "sample"]).code, Some(0));
    let said = run_in(&world, "sample", &["chat", "-q", "hello"]);
    assert!(said.code == Some(0), "what a person had written is accepted: {said}");
}
