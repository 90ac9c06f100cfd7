//! Questions to people, through the program: written down before they are asked, answered from anywhere, alive after a
//! crash, acted on exactly once.

use std::{
    ops::Deref,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{self, id};

/// One in which every command is asked about, and no profile is in force.
struct World(support::World);

impl Deref for World {
    type Target = support::World;

    fn deref(&self) -> &support::World {
        &self.0
    }
}

impl World {
    fn new() -> Self {
        Self(support::World::strict(&json!({})))
    }

    /// What the operator says, beside that every command is asked about.
    fn operator(&self, file: &str) {
        std::fs::write(self.data("pintle.toml"), format!("level = \"strict\"\n{file}")).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.pintle(arguments).output().unwrap()
    }

    /// Asks for a command that leaves a line in `marker` each time it runs, and waits for a person.
    fn ask(&self) -> Child {
        let question = ["chat", "-q", "run echo ran >> marker", "--wait-for-approval"];
        self.pintle(&question).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn approvals(&self, all: bool) -> Vec<Value> {
        let arguments: &[&str] = if all {
            &["approvals", "list", "--all", "--json"]
        } else {
            &["approvals", "list", "--json"]
        };
        let output = self.run(arguments);
        serde_json::from_slice(&output.stdout).expect("a JSON list")
    }

    fn times_run(&self) -> usize {
        self.read("marker").lines().count()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// A person who is told that something waits types the least there is.
#[test]
fn approvals_alone_lists_what_waits_and_says_how_to_answer() {
    let world = World::new();
    let none = world.run(&["approvals"]);
    assert!(none.status.success(), "{none:?}");
    assert_eq!(text(&none.stdout), "No questions are waiting.\n");
    let mut asking = world.ask();
    let question = id(&world.pending());
    let list = world.run(&["approvals"]);
    let stdout = text(&list.stdout);
    let short = stdout.lines().nth(1).and_then(|line| line.split_whitespace().next()).unwrap();
    assert_eq!(short.len(), 4, "{stdout}");
    assert!(text(&list.stdout).contains("echo ran >> marker"), "{list:?}");
    let json = world.run(&["approvals", "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap()[0]["id"], question);
    // What it says is what works.
    assert!(world.run(&["approvals", "approve", short]).status.success());
    assert!(asking.wait().unwrap().success());
    assert_eq!(text(&world.run(&["approvals"]).stdout), "No questions are waiting.\n");
}

// R11.4
#[test]
fn the_question_is_stored_with_the_real_arguments_before_it_is_answered() {
    let world = World::new();
    let asked = world.ask();
    let approval = world.pending();
    assert_eq!(approval["args"]["command"], "echo ran >> marker");
    assert_eq!(approval["argsHash"].as_str().unwrap().len(), 64);
    assert_eq!(world.times_run(), 0);
    assert!(world.run(&["approvals", "approve", &id(&approval)]).status.success());
    let output = asked.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(world.times_run(), 1);
}

// R11.5
#[test]
fn a_no_with_words_reaches_the_model_and_nothing_runs() {
    let world = World::new();
    let asked = world.ask();
    let approval = world.pending();
    world.run(&["approvals", "deny", &id(&approval), "--reason", "not on a Friday"]);
    let output = asked.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("not on a Friday"), "{}", text(&output.stdout));
    assert_eq!(world.times_run(), 0);
}

// R11.5
#[test]
fn without_a_terminal_there_is_no_one_to_ask_and_it_says_so_at_once() {
    let world = World::new();
    let output = world.run(&["chat", "-q", "run echo ran >> marker"]);
    assert!(text(&output.stdout).contains("no one to ask"), "{}", text(&output.stdout));
    assert!(world.approvals(true).is_empty());
    assert_eq!(world.times_run(), 0);
}

// R11.5, P6: the person is told as well, whatever the model makes of it.
#[test]
fn who_wants_the_answer_alone_is_told_of_each_call_that_nobody_was_asked_about() {
    let world = World::new();
    let call = |id: &str| json!({"id": id, "name": "terminal", "input": {"command": "echo ran >> marker"}});
    let script = json!([{"toolCalls": [call("a"), call("b")]}, {"text": "done"}]);
    std::fs::write(world.path("../quiet.json"), script.to_string()).unwrap();
    let quiet = ["chat", "-q", "go", "--model", "scripted:../quiet.json"];
    let output = world.run(&quiet);
    assert_eq!(text(&output.stdout), "done\n");
    let told = text(&output.stderr);
    for words in [
        "$ echo ran >> marker",
        "there is no one to",
        "--wait-for-approval",
        "until a person answers",
    ] {
        assert_eq!(told.matches(words).count(), 2, "{words}: {told}");
    }
    assert_eq!(world.times_run(), 0);
    // For machines it is an event.
    let events = text(&world.run(&[&quiet[..], &["--json"]].concat()).stdout);
    assert_eq!(events.matches(r#""outcome":"no_one_to_ask""#).count(), 2, "{events}");
}

// R11.6
#[test]
fn a_question_survives_a_crash_and_its_answer_runs_the_tool_exactly_once() {
    let world = World::new();
    let mut asked = world.ask();
    let approval = world.pending();
    asked.kill().unwrap();
    asked.wait().unwrap();
    assert_eq!(id(&world.pending()), id(&approval), "it is still there");

    let answered = world.run(&["approvals", "approve", &id(&approval)]);
    assert!(answered.status.success(), "{}", text(&answered.stderr));
    assert!(text(&answered.stdout).contains("it continued here"), "{}", text(&answered.stdout));
    assert_eq!(world.times_run(), 1);

    let again = world.run(&["approvals", "approve", &id(&approval)]);
    assert!(!again.status.success());
    assert!(text(&again.stderr).contains("already"), "{}", text(&again.stderr));
    assert_eq!(world.times_run(), 1);

    let session = approval["sessionId"].as_str().unwrap();
    let export = world.run(&["sessions", "export", session]);
    let session: Value = serde_json::from_slice(&export.stdout).unwrap();
    let messages = session["messages"].as_array().unwrap();
    let results: Vec<_> =
        messages.iter().filter(|m| m["message"]["role"] == "tool_results").collect();
    assert_eq!(results.len(), 1, "one result message for the one call");
    assert_eq!(results[0]["message"]["results"][0]["isError"], false);
}

// R11.6
#[test]
fn a_no_after_a_crash_ends_the_run_in_order() {
    let world = World::new();
    let mut asked = world.ask();
    let approval = world.pending();
    asked.kill().unwrap();
    asked.wait().unwrap();
    let denied = world.run(&["approvals", "deny", &id(&approval), "--reason", "better not"]);
    assert!(text(&denied.stdout).contains("better not"), "{}", text(&denied.stdout));
    assert_eq!(world.times_run(), 0);
    let next = world.run(&["chat", "-q", "list ."]);
    assert!(next.status.success(), "{}", text(&next.stderr));
}

// R6.5, R11.5
#[test]
fn a_new_message_after_a_crash_calls_the_question_off() {
    let world = World::new();
    let mut asked = world.ask();
    let approval = world.pending();
    asked.kill().unwrap();
    asked.wait().unwrap();
    assert!(world.run(&["chat", "--continue", "-q", "list ."]).status.success());
    let late = world.run(&["approvals", "approve", &id(&approval)]);
    assert!(!late.status.success(), "{}", text(&late.stdout));
    assert_eq!(world.times_run(), 0);
}

// R11.4
#[test]
fn a_stranger_changes_nothing_and_is_told() {
    let world = World::new();
    world.operator("approvers = [\"alice\", \"bob\"]");
    let mut asked = world.ask();
    let id = id(&world.pending());
    for answer in ["approve", "deny"] {
        // Nobody becomes another by saying so.
        let mut stranger = world.pintle(&["approvals", answer, &id]);
        let stranger = stranger.env("USER", "alice").env("LOGNAME", "alice").output().unwrap();
        let said = text(&stranger.stderr);
        assert_eq!(stranger.status.code(), Some(1), "{said}");
        assert!(said.contains("may not answer") && said.contains("answer: alice, bob"), "{said}");
        let claims = world.run(&["approvals", answer, &id, "--as", "alice"]);
        assert_eq!(claims.status.code(), Some(2), "{}", text(&claims.stderr));
    }
    assert_eq!((world.times_run(), world.approvals(false).len()), (0, 1));
    asked.kill().unwrap();
    asked.wait().unwrap();
}

/// The system's name for whoever runs the tests.
fn own_name() -> String {
    let name = Command::new("id").arg("-un").output().unwrap();
    text(&name.stdout).trim().to_string()
}

// R11.5: approvers are users of the system.
#[test]
fn an_approver_answers_under_their_own_name() {
    let world = World::new();
    let own = own_name();
    world.operator(&format!("approvers = [\"alice\", \"{own}\"]"));
    let asked = world.ask();
    let id = id(&world.pending());
    let answered = world.run(&["approvals", "approve", &id]);
    assert!(answered.status.success(), "{}", text(&answered.stderr));
    asked.wait_with_output().unwrap();
    assert_eq!(world.times_run(), 1);
    assert_eq!(world.approvals(true)[0]["answeredBy"], own.as_str());
}

// R10.8: who may answer can be tightened while a question waits.
#[test]
fn an_approver_whom_the_operator_takes_off_the_list_answers_nothing_any_more() {
    let world = World::new();
    let mut asked = world.ask();
    let id = id(&world.pending());
    world.operator("approvers = [\"alice\"]");
    let late = world.run(&["approvals", "approve", &id]);
    assert_eq!(late.status.code(), Some(1), "{}", text(&late.stdout));
    assert!(text(&late.stderr).contains("may not answer"), "{}", text(&late.stderr));
    assert_eq!((world.times_run(), world.approvals(false).len()), (0, 1));
    asked.kill().unwrap();
    asked.wait().unwrap();
}

// R11.4
#[test]
fn of_two_answers_at_once_one_counts_and_the_other_is_told() {
    let world = World::new();
    let asked = world.ask();
    let id = id(&world.pending());
    let answers = ["approve", "deny"].map(|answer| {
        let mut command = world.pintle(&["approvals", answer, &id]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let outputs = answers.map(|child| child.wait_with_output().unwrap());
    let counted = outputs.iter().filter(|output| output.status.success()).count();
    assert_eq!(counted, 1, "{outputs:?}");
    assert!(outputs.iter().any(|output| text(&output.stderr).contains("already")));
    asked.wait_with_output().unwrap();
    assert_eq!(world.times_run(), usize::from(outputs[0].status.success()));
}

// R11.5
#[test]
fn a_question_that_lapses_blocks_and_a_late_answer_changes_nothing() {
    let world = World::new();
    let agent = r#"{ "name": "hasty", "security": { "approvalTimeoutMs": 300 } }"#;
    world.write("hasty/agent.json", agent);
    let question = "run echo ran >> marker";
    let output = world.run(&["chat", "--profile", "hasty", "-q", question, "--wait-for-approval"]);
    assert!(text(&output.stdout).contains("did not answer in time"), "{}", text(&output.stdout));
    let lapsed = world.approvals(true).pop().unwrap();
    let late = world.run(&["approvals", "approve", &id(&lapsed)]);
    assert!(text(&late.stderr).contains("expired"), "{}", text(&late.stderr));
    assert_eq!(world.times_run(), 0);
}

// R11.7: a line that writes a file of its own has no rule, and nothing is approved beyond it.
#[test]
fn a_question_that_offers_no_rule_is_answered_for_one_call_only() {
    let world = World::new();
    let asked = world.ask();
    let id = id(&world.pending());
    for wide in ["--session", "--always"] {
        let refused = world.run(&["approvals", "approve", &id, wide]);
        assert!(!refused.status.success());
        assert!(text(&refused.stderr).contains("offers no rule"), "{}", text(&refused.stderr));
    }
    assert_eq!(world.times_run(), 0);
    assert!(world.run(&["approvals", "approve", &id]).status.success());
    asked.wait_with_output().unwrap();
    let again = world.run(&["chat", "-q", "run echo ran >> marker"]);
    assert!(text(&again.stdout).contains("no one to ask"), "{}", text(&again.stdout));
    assert_eq!(world.times_run(), 1);
}

// R11.6: whenever the power goes, the tool has run at most once, and the session goes on.
#[test]
fn a_kill_at_any_moment_never_runs_the_tool_twice() {
    for round in 0..16_u64 {
        let world = World::new();
        let mut asked = world.ask();
        let id = id(&world.pending());
        asked.kill().unwrap();
        asked.wait().unwrap();
        // Somewhere between reading the question and storing the result of the call.
        let mut answering = world
            .pintle(&["approvals", "approve", &id])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(4 * round));
        answering.kill().unwrap();
        answering.wait().unwrap();
        assert!(world.times_run() <= 1, "round {round}");
        world.run(&["approvals", "approve", &id]);
        assert!(world.times_run() <= 1, "round {round}");
        let next = world.run(&["chat", "-q", "list ."]);
        assert!(next.status.success(), "round {round}: {}", text(&next.stderr));
        assert!(world.times_run() <= 1, "round {round}");
    }
}

/// Somebody writes to the database themselves.
fn tamper(world: &World, command: &str) {
    let write = "import json, sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=30); \
                 c.execute('UPDATE approvals SET args = ?', [json.dumps({'command': sys.argv[2]})]); c.commit()";
    let database = world.data("pintle.db");
    let done = Command::new("python3").args(["-c", write]).arg(database).arg(command).status();
    assert!(done.unwrap().success());
}

// P3, R11.4
#[test]
fn arguments_that_were_changed_in_the_database_are_neither_shown_nor_answered() {
    let world = World::new();
    let asked = world.ask();
    let id = id(&world.pending());
    tamper(&world, "echo harmless");
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["show", &id],
        &["approve", &id],
        &["approve", &id, "--session"],
        &["deny", &id],
    ] {
        let output = world.run(&[&["approvals"], arguments].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success(), "{arguments:?}: {out}");
        assert!(format!("{out}{err}").contains("were changed in the database"), "{out} {err}");
        assert!(!out.contains("harmless"), "{arguments:?}: {out}");
    }
    assert_eq!(world.times_run(), 0);
    // The question itself is untouched.
    tamper(&world, "echo ran >> marker");
    assert!(world.run(&["approvals", "approve", &id]).status.success());
    asked.wait_with_output().unwrap();
    assert_eq!(world.times_run(), 1);
}

// R11.4
#[test]
fn too_little_of_an_id_answers_nothing() {
    let world = World::new();
    let asked = world.ask();
    let id = id(&world.pending());
    for part in ["", "0", &id[..3], &id[id.len() - 3..]] {
        let output = world.run(&["approvals", "approve", part]);
        assert!(!output.status.success(), "{part:?}");
        assert!(text(&output.stderr).contains("no approval `"), "{part:?}");
    }
    assert_eq!((world.pending()["state"].as_str(), world.times_run()), (Some("pending"), 0));
    assert!(world.run(&["approvals", "deny", &id[id.len() - 8..]]).status.success());
    asked.wait_with_output().unwrap();
    assert_eq!(world.times_run(), 0);
}
