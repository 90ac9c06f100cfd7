//! Kill -9 between each two steps of an approval: asked, answered, used, run, told (R11.6). The tool runs once, or not at
//! all when nobody can know how far it came; never twice.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Said, World, id, until};

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
}

fn waiting(world: &World, arguments: &[&str]) -> Child {
    let all: Vec<&str> = ["chat", "--session", "cli:kills", "--wait-for-approval"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    world.pintle(&all).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn killed(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn question(world: &World, asked: &str) -> Value {
    serde_json::from_str(&world.run(&["approvals", "show", asked, "--json"]).out).unwrap()
}

fn approve(world: &World, asked: &str) -> Said {
    world.run(&["approvals", "approve", asked])
}

/// The conversation is whole: it goes on, and every call has one result.
fn goes_on(world: &World, results: usize) {
    let next = world.run(&["chat", "--session", "cli:kills", "-q", "list ."]);
    assert!(next.ok, "{next:?}");
    let export = world.run(&["sessions", "export", "cli:kills"]);
    let session: Value = serde_json::from_str(&export.out).unwrap();
    let told = |m: &&Value| m["message"]["role"] == "tool_results";
    assert_eq!(session["messages"].as_array().unwrap().iter().filter(told).count(), results);
}

#[test]
fn between_asked_and_answered() {
    let world = World::new(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let asked = id(&world.pending());
    killed(asking);
    assert_eq!(question(&world, &asked)["state"], "pending");
    assert!(approve(&world, &asked).ok);
    assert_eq!(world.read("marker"), "ran\n");
    assert!(!approve(&world, &asked).ok);
    assert_eq!(world.read("marker"), "ran\n");
    goes_on(&world, 2);
}

#[test]
fn between_answered_and_used() {
    let world = World::new(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let asked = id(&world.pending());
    // It is there and holds the question, but never gets to hear the answer.
    signal(&asking, "STOP");
    let answered = approve(&world, &asked);
    assert!(answered.ok && !answered.out.contains("it went on here"), "{answered:?}");
    killed(asking);
    let stored = question(&world, &asked);
    assert_eq!((&stored["state"], &stored["consumedAt"]), (&json!("approved"), &Value::Null));
    assert!(!world.path("marker").exists());
    // The answer stands: whoever repeats it lets the run go on.
    let again = approve(&world, &asked);
    assert!(again.ok && again.out.contains("it went on here"), "{again:?}");
    assert_eq!(world.read("marker"), "ran\n");
    assert!(!approve(&world, &asked).ok);
    assert_eq!(world.read("marker"), "ran\n");
    goes_on(&world, 2);
}

#[test]
fn between_used_and_told() {
    let world = World::new(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker; sleep 60"]);
    let asked = id(&world.pending());
    assert!(approve(&world, &asked).ok);
    world.appears("marker");
    killed(asking);
    assert!(question(&world, &asked)["consumedAt"].is_u64());
    // How far it came cannot be known, so it is not run again.
    let again = approve(&world, &asked);
    assert!(!again.ok && again.err.contains("already"), "{again:?}");
    assert_eq!(world.read("marker"), "ran\n");
    goes_on(&world, 2);
    assert_eq!(world.read("marker"), "ran\n");
}

#[test]
fn between_told_and_the_end_of_the_run() {
    let world = World::new(&json!({}));
    let call =
        json!({ "id": "1", "name": "terminal", "input": { "command": "echo ran >> marker" } });
    let script = json!([{ "toolCalls": [call] }, { "delayMs": 600_000, "text": "never said" }]);
    world.write("play.json", &script.to_string());
    let asking = waiting(&world, &["-q", "go", "--model", "scripted:play.json"]);
    let asked = id(&world.pending());
    assert!(approve(&world, &asked).ok);
    let told = || world.run(&["sessions", "export", "cli:kills"]).out.contains("tool_results");
    until(told, "the result");
    killed(asking);
    let again = approve(&world, &asked);
    assert!(!again.ok, "{again:?}");
    assert_eq!(world.read("marker"), "ran\n");
    goes_on(&world, 2);
}

// R11.5
#[test]
fn a_run_that_is_stopped_while_it_waits_takes_its_question_back() {
    let world = World::new(&json!({}));
    let mut asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let asked = id(&world.pending());
    signal(&asking, "INT");
    asking.wait().unwrap();
    until(|| question(&world, &asked)["state"] == "cancelled", "the cancellation");
    let late = approve(&world, &asked);
    assert!(!late.ok && late.err.contains("it was cancelled already"), "{late:?}");
    assert!(!world.path("marker").exists());
    goes_on(&world, 2);
}

// R11.4
#[test]
fn of_many_answers_at_once_one_counts_and_each_other_is_told() {
    let world = World::new(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let asked = id(&world.pending());
    let answer = |n: usize| if n.is_multiple_of(2) { "approve" } else { "deny" };
    let all: Vec<Child> = (0..8)
        .map(|n| {
            let mut answering = world.pintle(&["approvals", answer(n), &asked]);
            answering.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let said: Vec<Said> =
        all.into_iter().map(|c| Said::from(c.wait_with_output().unwrap())).collect();
    let counted: Vec<usize> = (0..8).filter(|n| said[*n].ok).collect();
    assert_eq!(counted.len(), 1, "{said:?}");
    assert!(
        said.iter().filter(|s| !s.ok).all(|s| s.err.contains("nothing was changed")),
        "{said:?}"
    );
    asking.wait_with_output().unwrap();
    assert_eq!(world.read("marker").lines().count(), usize::from(counted[0].is_multiple_of(2)));
}

// P3: what was approved is what runs, also when somebody rewrites the stored conversation meanwhile.
#[test]
fn arguments_that_are_swapped_after_the_question_do_not_run() {
    let world = World::new(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let asked = id(&world.pending());
    killed(asking);
    let swap = "import sqlite3, sys\n\
                db = sqlite3.connect(sys.argv[1])\n\
                db.execute(\"UPDATE messages SET body = replace(body, 'echo ran', 'echo swapped')\")\n\
                db.commit()";
    let database = world.data("pintle.db");
    let swapped = Command::new("python3").args(["-c", swap]).arg(database).output().unwrap();
    assert!(swapped.status.success(), "{swapped:?}");
    let export = world.run(&["sessions", "export", "cli:kills"]);
    assert!(export.out.contains("echo swapped"), "{export:?}");
    let said = approve(&world, &asked);
    assert!(said.out.contains("no one to ask"), "{said:?}");
    assert!(!world.path("marker").exists());
}

// P3: a yes is for the place that was shown, not for whatever a link leads to by then.
#[test]
fn a_yes_does_not_follow_a_link_that_was_turned_round() {
    for place in ["../../workspace/other", "../elsewhere"] {
        let world = World::new(&json!({ "security": { "level": "strict" } }));
        for folder in ["shown", "other"] {
            std::fs::create_dir_all(world.path(folder)).unwrap();
        }
        std::fs::create_dir_all(world.path("../elsewhere")).unwrap();
        let link = world.path("link");
        std::os::unix::fs::symlink("shown", &link).unwrap();
        let asking = waiting(&world, &["--profile", "profile", "-q", "write link/a.txt: precious"]);
        let pending = world.pending();
        assert!(pending["reason"].as_str().unwrap().contains("/shown/a.txt"), "{pending}");
        killed(asking);
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(world.path(place), &link).unwrap();
        approve(&world, &id(&pending));
        for file in ["shown/a.txt", "other/a.txt", "../elsewhere/a.txt"] {
            assert!(!world.path(file).exists(), "{place}: {file}");
        }
    }
}

// P6
#[test]
fn who_has_nobody_to_ask_here_is_told_what_waits() {
    let world = World::new(&json!({}));
    let arguments = ["chat", "--wait-for-approval", "-q", "run echo ran >> marker"];
    let mut asking = world.pintle(&arguments);
    let asking = asking.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let asked = id(&world.pending());
    let answered = approve(&world, &asked);
    assert!(!answered.err.contains("waits for an answer"), "{answered:?}");
    let said = Said::from(asking.wait_with_output().unwrap());
    assert!(
        said.err.contains(&format!("terminal waits for an answer: pintle approvals show {asked}")),
        "{said:?}"
    );
    assert_eq!(world.read("marker"), "ran\n");
}
