//! An answer after a crash: the run goes on as what it was, wherever the answer is given (P3, R11.6).

use std::{
    io::Write as _,
    process::{Child, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    support::{PATIENCE, Said, World, assert_whole, signal},
    terminal::{keys, play, wait, wait_for_prompt, wait_for_question},
};

/// A world with a profile that forbids writing `secret.txt`, a second folder, and a run that died while it asked.
struct Crashed {
    world: World,
    id: String,
}

const GUARDED: &str = r#"{ "name": "ap", "policies": [{ "tool": "write_file", "kind": "path", "deny": ["secret.txt"] }] }"#;

fn script(calls: &[(&str, Value)]) -> Value {
    let call = |(place, (name, input)): (usize, &(&str, Value))| json!({"toolCalls": [{"id": format!("t{place}"), "name": name, "input": input}]});
    let mut script: Vec<_> = calls.iter().enumerate().map(call).collect();
    script.push(json!({"text": "That is all."}));
    script.into()
}

fn mark() -> (&'static str, Value) {
    ("terminal", json!({"command": "echo ran >> marker"}))
}

fn world() -> World {
    let world = World::strict();
    world.write("../ap/agent.json", GUARDED);
    world.write("../other/here.txt", "");
    world.script("ap1.json", &script(&[mark()]));
    world.script(
        "ap2.json",
        &script(&[("write_file", json!({"path": "secret.txt", "content": "x"}))]),
    );
    world
}

fn killed(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

impl Crashed {
    fn new(arguments: &[&str]) -> Self {
        Self::of(world(), arguments)
    }

    /// Asked in `work`, with a path that means nothing elsewhere.
    fn of(world: World, arguments: &[&str]) -> Self {
        let chat = ["chat", "-q", "go", "--wait-for-approval", "--model", "scripted:../ap1.json"];
        let asked = world.start(&[&chat[..], arguments].concat());
        let id = world.pending()["id"].as_str().unwrap().to_string();
        killed(asked);
        Self { world, id }
    }

    /// Answered in `other`.
    fn answer(&self, arguments: &[&str]) -> Said {
        let mut command = self.command(arguments);
        self.world.said(command.output().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let (word, rest) = arguments.split_first().unwrap();
        let mut command = self.world.command(&[&["approvals", word, &self.id], rest].concat());
        command.current_dir(self.world.file("../other"));
        command
    }

    fn is_open(&self) -> bool {
        let list = self.world.run(&["approvals", "list", "--json"]).json();
        list[0]["id"] == self.id.as_str()
    }

    fn ran(&self) -> bool {
        assert!(
            !self.world.file("../other/marker").exists(),
            "nothing happens where the answer is given"
        );
        self.world.file("marker").exists()
    }

    fn assert_refused(&self, said: &Said, words: &str) {
        assert_eq!(said.code, Some(1), "{said}");
        assert!(said.err.contains(words), "{said}");
        assert!(!self.ran() && self.is_open(), "{said}");
    }
}

// R10.10: an answer is no way round the question about a changed profile.
#[test]
fn a_profile_that_changed_since_it_was_accepted_stops_the_run_that_goes_on() {
    let world = world();
    world.write("agent.json", GUARDED);
    assert_eq!(world.run(&["trust", ".", "--accept"]).code, Some(0));
    let crashed = Crashed::of(world, &[]);
    crashed.world.write("agent.json", r#"{ "name": "ap" }"#);
    crashed.assert_refused(&crashed.answer(&["approve"]), "changed since it was trusted");
    crashed.assert_refused(&crashed.answer(&["approve", "--no-profile"]), "uses the profile");
    crashed.world.write("agent.json", GUARDED);
    assert_eq!(crashed.answer(&["approve"]).code, Some(0));
    assert!(crashed.ran());
}

#[test]
fn the_run_goes_on_in_its_own_folder_under_its_own_guards() {
    let crashed = Crashed::new(&["--profile", "../ap"]);
    let said = crashed.answer(&["approve", "--model", "scripted:../ap2.json"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(crashed.ran());
    for folder in ["", "../other/"] {
        let secret = crashed.world.file(&format!("{folder}secret.txt"));
        assert!(!secret.exists(), "the profile forbids it: {}", secret.display());
    }
    let exported = crashed.world.exported();
    assert_whole(&exported);
    assert!(exported.to_string().contains("secret.txt"), "it was tried: {exported}");
}

#[test]
fn a_run_without_a_profile_goes_on_in_its_own_folder_too() {
    let crashed = Crashed::new(&[]);
    let said = crashed.answer(&["approve", "--model", "offline"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(crashed.ran());
}

// R11.6: the yes was for a call that today's profile no longer allows.
#[test]
fn the_call_is_judged_again_by_the_profile_as_it_is_now() {
    let rules = [
        r#""policies": [{ "tool": "terminal", "kind": "shell", "deny": ["echo *"] }]"#,
        r#""tools": { "deny": ["terminal"] }"#,
        r#""security": { "level": "paranoid" }, "hooks": { "onToolCall": [{ "action": "command", "argv": ["false"] }] }"#,
    ];
    let by = ["`echo *`", "`tools` do not offer", "`command at agent.json:1`"];
    for (rule, by) in rules.into_iter().zip(by) {
        let crashed = Crashed::new(&["--profile", "../ap"]);
        crashed.world.write("../ap/agent.json", format!(r#"{{ "name": "ap", {rule} }}"#));
        let trust = crashed.world.run(&["trust", "../ap", "--accept"]);
        let mut command = crashed.command(&["approve", "--model", "offline"]);
        let said =
            crashed.world.said(command.env("PINTLE_ALLOW_COMMAND_HOOKS", "1").output().unwrap());
        assert!(!crashed.ran(), "{rule}: {trust}{said}");
        assert!(!crashed.is_open(), "the run went on, and the model was told: {rule}: {said}");
        assert_whole(&crashed.world.exported());
        // P6: so was whoever said yes.
        assert_eq!(said.code, Some(3), "{rule}: {said}");
        assert!(said.err.contains("terminal did not run although you approved it"), "{said}");
        assert!(said.err.contains(by), "{by}: {said}");
        let again = crashed.answer(&["approve", "--model", "offline"]);
        assert!(again.err.contains("already"), "the yes is used up: {again}");
    }
}

// P6: the same by the operator's word, and for machines.
#[test]
fn a_yes_that_the_operator_overrules_is_said_to_be() {
    let world = world();
    std::fs::remove_file(world.data().join("pintle.toml")).unwrap();
    let outside = ("write_file", json!({"path": "../outside.txt", "content": "x"}));
    world.script("ap1.json", &script(&[outside]));
    let crashed = Crashed::of(world, &[]);
    let operator = crashed.world.data().join("pintle.toml");
    std::fs::write(operator, "level = \"strict\"\n").unwrap();
    let said = crashed.answer(&["approve", "--model", "offline", "--json"]);
    assert_eq!(said.code, Some(3), "{said}");
    let refused = said.json()["refused"].as_str().unwrap().to_string();
    assert!(refused.contains("level strict never allows this (pintle.toml:1)"), "{said}");
    assert!(!crashed.world.file("../outside.txt").exists() && !crashed.is_open(), "{said}");
}

// A yes that nobody acted on is not lost from sight.
#[test]
fn an_approved_call_whose_run_died_is_listed_until_somebody_goes_on_with_it() {
    let world = world();
    let chat = ["chat", "-q", "go", "--wait-for-approval", "--model", "scripted:../ap1.json"];
    let asked = world.start(&chat);
    let id = world.pending()["id"].as_str().unwrap().to_string();
    signal(&asked, "STOP");
    // Its run has the session and does not stir: the yes is left to it.
    let yes = world.run(&["approvals", "approve", &id]);
    assert_eq!(yes.code, Some(0), "{yes}");
    let list = world.run(&["approvals", "list"]);
    assert!(list.out.contains("No questions are waiting"), "it is its run's to act on: {list}");
    killed(asked);

    let list = world.run(&["approvals", "list"]);
    assert!(list.out.contains("its run ended before it acted"), "{list}");
    let crashed = Crashed { world, id };
    assert!(crashed.is_open() && !crashed.ran());
    let went_on = crashed.answer(&["approve", "--model", "offline"]);
    assert_eq!(went_on.code, Some(0), "{went_on}");
    assert!(crashed.ran() && !crashed.is_open(), "{went_on}");
}

// R11.4: of several who answer at once one counts; whoever goes on with the run has done so, and says it.
#[test]
fn whoever_goes_on_with_the_run_says_so_also_when_somebody_else_was_first() {
    for (first, code) in [("approve", 0), ("deny", 1)] {
        let crashed = Crashed::new(&[]);
        let gate = crashed.world.file("../gate.json");
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let model = format!("scripted:{}", gate.display());
        let mut second = crashed.command(&["approve", "--model", &model]);
        let second = second.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It has the session, and reads its model before it answers.
        let mut open = std::fs::OpenOptions::new().write(true).open(&gate).unwrap();
        let mut first = crashed.command(&[first]);
        let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let since = Instant::now();
        let all = ["approvals", "list", "--all", "--json"];
        while crashed.world.run(&all).json()[0]["state"] == "pending" {
            assert!(since.elapsed() < PATIENCE, "nobody answered");
        }
        open.write_all(script(&[]).to_string().as_bytes()).unwrap();
        drop(open);
        let second = crashed.world.said(second.wait_with_output().unwrap());
        let first = crashed.world.said(first.wait_with_output().unwrap());
        assert_eq!(first.code, Some(0), "{first}");
        assert_eq!(second.code, Some(code), "{second}");
        assert!(second.out.contains("it continued here"), "{second}");
        assert_eq!(second.err.contains("error"), code == 1, "{second}");
        assert_eq!(crashed.ran(), code == 0, "{first}{second}");
    }
}

// A floor that was lowered meanwhile stays where it was for this run.
#[test]
fn the_run_goes_on_no_looser_than_it_was() {
    let world = world();
    let operator = world.data().join("pintle.toml");
    let crashed = Crashed::of(world, &[]);
    std::fs::write(&operator, "level = \"permissive\"\n").unwrap();
    let plain = script(&[("write_file", json!({"path": "plain.txt", "content": "x"}))]);
    let model = crashed.world.script("plain.json", &plain);
    let said = crashed.answer(&["approve", "--model", &model]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(crashed.ran(), "a person said yes to this one");
    assert!(!crashed.world.file("plain.txt").exists(), "and nobody to this one: {said}");
}

#[test]
fn a_flag_that_says_otherwise_is_an_error_and_changes_nothing() {
    let crashed = Crashed::new(&["--profile", "../ap"]);
    crashed.world.write("../lax/agent.json", r#"{ "name": "lax" }"#);
    for flag in [["--profile", "../lax"], ["--personality", "somebody"]] {
        let said = crashed.answer(&["approve", flag[0], flag[1]]);
        crashed.assert_refused(&said, "cannot be changed");
        let said = crashed.answer(&["deny", flag[0], flag[1]]);
        crashed.assert_refused(&said, "cannot be changed");
    }
    // The same place by another name is the same.
    let said = crashed.answer(&["approve", "--profile", "../work/../ap", "--model", "offline"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(crashed.ran());
}

#[test]
fn without_its_profile_nothing_runs_and_the_question_stays() {
    let crashed = Crashed::new(&["--profile", "../ap"]);
    let world = &crashed.world;
    let approve = ["approve", "--model", "offline"];
    std::fs::rename(world.file("../ap"), world.file("../away")).unwrap();
    crashed.assert_refused(&crashed.answer(&approve), "agent.json");

    world.write("../ap/agent.json", r#"{ "name": "ap", "polices": [] }"#);
    crashed.assert_refused(&crashed.answer(&approve), "does not load");

    let guard = r#"{ "name": "ap", "hooks": { "onToolCall": [{ "action": "command", "argv": ["true"] }] } }"#;
    world.write("../ap/agent.json", guard);
    crashed.assert_refused(&crashed.answer(&approve), "PINTLE_ALLOW_COMMAND_HOOKS");
    let mut command = crashed.command(&approve);
    let untrusted = world.said(command.env("PINTLE_ALLOW_COMMAND_HOOKS", "1").output().unwrap());
    crashed.assert_refused(&untrusted, "since it was trusted");

    let moved = r#"{ "name": "ap", "security": { "workspace": "inside" } }"#;
    world.write("../ap/agent.json", moved);
    world.write("../ap/inside/here.txt", "");
    crashed.assert_refused(&crashed.answer(&approve), "but its profile now says");

    world.write("../ap/agent.json", GUARDED);
    let (here, away) = (world.data().with_file_name("work"), world.data().with_file_name("gone"));
    std::fs::rename(&here, &away).unwrap();
    let mut command = world.command(&["approvals", "approve", &crashed.id, "--model", "offline"]);
    let said = world.said(command.current_dir(&away).output().unwrap());
    std::fs::rename(&away, &here).unwrap();
    crashed.assert_refused(&said, "no longer exists");

    let said = crashed.answer(&approve);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(crashed.ran());
}

#[test]
fn a_no_is_always_possible() {
    let crashed = Crashed::new(&["--profile", "../ap"]);
    std::fs::remove_dir_all(crashed.world.file("../ap")).unwrap();
    let said = crashed.answer(&["deny"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.out.contains("denied") && said.err.contains("cannot continue"), "{said}");
    assert!(!crashed.ran() && !crashed.is_open());
    assert_eq!(crashed.world.run(&["chat", "-c", "-q", "list ."]).code, Some(0));
    assert_whole(&crashed.world.exported());
}

#[test]
fn without_its_model_nothing_runs_until_another_is_named() {
    let crashed = Crashed::new(&[]);
    std::fs::remove_file(crashed.world.file("../ap1.json")).unwrap();
    crashed.assert_refused(&crashed.answer(&["approve"]), "--model");
    assert_eq!(crashed.answer(&["approve", "--model", "offline"]).code, Some(0));
    assert!(crashed.ran());
}

#[test]
fn a_question_that_does_not_know_what_asked_it_is_not_gone_on_with() {
    let crashed = Crashed::new(&[]);
    let forget = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('UPDATE approvals SET origin = NULL'); c.commit()";
    let database = crashed.world.data().join("pintle.db");
    let forgot = Command::new("python3").args(["-c", forget]).arg(database).status().unwrap();
    assert!(forgot.success());
    crashed.assert_refused(&crashed.answer(&["approve"]), "older version of pintle");
    assert_eq!(crashed.answer(&["deny"]).code, Some(0));
    assert!(!crashed.ran());
}

#[test]
fn a_question_says_where_it_belongs_and_when_it_lapses() {
    let crashed = Crashed::new(&["--profile", "../ap", "--session", "mine"]);
    let text = crashed.world.run(&["approvals", "show", &crashed.id]).to_string();
    for fact in ["TEMP/work", "TEMP/ap", "mine", "29m left"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    assert!(crashed.world.run(&["approvals"]).out.contains("29m"));
    let json = crashed.world.run(&["approvals", "show", &crashed.id, "--json"]).json();
    assert_eq!(json["origin"]["personality"], "default");
    assert_eq!(json["origin"]["level"], "strict");
    assert_eq!(json["origin"]["platform"], "cli");
}

#[test]
fn a_conversation_made_of_something_else_says_so_and_runs_nothing() {
    let crashed = Crashed::new(&["--profile", "../ap", "--session", "shared"]);
    let world = &crashed.world;
    world.write("lax/agent.json", r#"{ "name": "lax" }"#);
    let screen = play(
        world,
        &["chat", "--session", "shared", "--profile", "lax"],
        &[wait("cannot be changed"), wait("nothing ran"), wait_for_prompt(), keys("\u{4}")],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!crashed.ran() && crashed.is_open(), "{}", screen.text);
}

// The same hole, by another door: a conversation in another folder finds the open question.
#[test]
fn a_conversation_elsewhere_goes_on_with_it_where_it_was() {
    let world = world();
    let chat = ["chat", "-q", "go", "--wait-for-approval", "--session", "shared"];
    let mut asking = world
        .command(&[&chat[..], &["--model", "scripted:../ap1.json", "--profile", "../ap"]].concat());
    let asking = asking.current_dir(world.file("../other")).stdout(Stdio::null()).spawn().unwrap();
    world.pending();
    killed(asking);
    let screen = play(
        &world,
        &[
            "chat",
            "--session",
            "shared",
            "--model",
            &format!("scripted:{}", world.file("../ap2.json").display()),
        ],
        &[
            wait("still open"),
            wait_for_question(),
            keys("y"),
            wait("That is all."),
            wait_for_prompt(),
            keys("\u{4}"),
        ],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(world.file("../other/marker").exists(), "{}", screen.text);
    assert!(!world.file("marker").exists() && !world.file("../other/secret.txt").exists());
}

/// A sub-agent asks, and everything dies.
fn crashed_in_a_sub_agent() -> Crashed {
    let world = world();
    world.script("ap1.json", &script(&[("delegate", json!({"task": "mark it"})), mark()]));
    Crashed::of(world, &["--session", "mine"])
}

// R11.6
#[test]
fn a_sub_agents_question_survives_a_crash_and_says_whose_it_is() {
    let crashed = crashed_in_a_sub_agent();
    let said = crashed.world.run(&["approvals", "show", &crashed.id]);
    assert!(said.out.contains("mine, a sub-agent of it"), "{said}");
    let said = crashed.answer(&["approve", "--model", "offline"]);
    assert!(said.code == Some(0) && crashed.ran(), "{said}");
    // P6
    assert!(
        said.err.contains("the conversation that started it does not get its answer"),
        "{said}"
    );
    let again = crashed.answer(&["approve", "--model", "offline"]);
    assert!(again.err.contains("already"), "{again}");
    assert_eq!(std::fs::read_to_string(crashed.world.file("marker")).unwrap(), "ran\n");
}

// R11.6: whoever went on without the sub-agent does not want its call any more.
#[test]
fn a_conversation_that_goes_on_or_goes_away_calls_its_sub_agents_questions_off() {
    let goes_on = ["chat", "-q", "list .", "--session", "mine", "--model", "offline"];
    for over in [&goes_on[..], &["sessions", "delete", "mine"]] {
        let crashed = crashed_in_a_sub_agent();
        assert_eq!(crashed.world.run(over).code, Some(0), "{over:?}");
        assert!(!crashed.is_open(), "{over:?}");
        let said = crashed.answer(&["approve", "--model", "offline"]);
        assert_eq!(said.code, Some(1), "{over:?}: {said}");
        assert!(said.err.contains("was already cancelled"), "{over:?}: {said}");
        assert!(!crashed.ran(), "{over:?}: {said}");
    }
}
