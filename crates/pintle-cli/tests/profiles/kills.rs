//! Kill -9 between each two steps of an approval: asked, answered, used, run, told (R11.6). The tool runs once, or not at
//! all when nobody can know how far it came; never twice.

use std::{
    fs::File,
    process::{Child, Command, Stdio},
};

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

/// Holds the lock that a killed run has left, as the run did: its session is taken to be in use.
fn stands_in_for_its_run(world: &World) -> File {
    let locks: Vec<_> = std::fs::read_dir(world.data("locks")).unwrap().flatten().collect();
    let [lock] = locks.as_slice() else { panic!("one process, one lock: {locks:?}") };
    let held = File::open(lock.path()).unwrap();
    held.lock().unwrap();
    held
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
    let world = World::strict(&json!({}));
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
    let world = World::strict(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let pending = world.pending();
    let asked = id(&pending);
    killed(asking);
    // It seems to be there, but never gets to hear the answer.
    let held = stands_in_for_its_run(&world);
    let answered = approve(&world, &asked);
    assert!(answered.ok && !answered.out.contains("it continued here"), "{answered:?}");
    drop(held);
    let stored = question(&world, &asked);
    assert_eq!((&stored["state"], &stored["consumedAt"]), (&json!("approved"), &Value::Null));
    assert!(!world.path("marker").exists());
    // The answer stands: whoever repeats it lets the run go on.
    let again = approve(&world, &asked);
    assert!(again.ok && again.out.contains("it continued here"), "{again:?}");
    assert_eq!(world.read("marker"), "ran\n");
    assert!(!approve(&world, &asked).ok);
    assert_eq!(world.read("marker"), "ran\n");
    goes_on(&world, 2);
}

#[test]
fn between_used_and_told() {
    let world = World::strict(&json!({}));
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
    let world = World::strict(&json!({}));
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
    let world = World::strict(&json!({}));
    let mut asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let asked = id(&world.pending());
    signal(&asking, "INT");
    asking.wait().unwrap();
    until(|| question(&world, &asked)["state"] == "cancelled", "the cancellation");
    let late = approve(&world, &asked);
    assert!(
        !late.ok
            && late.err.contains("was already cancelled (just now); your answer changed nothing"),
        "{late:?}"
    );
    assert!(!world.path("marker").exists());
    goes_on(&world, 2);
}

// R11.4
#[test]
fn of_many_answers_at_once_one_counts_and_each_other_is_told() {
    let world = World::strict(&json!({}));
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
    assert!(said.iter().filter(|s| !s.ok).all(|s| s.err.contains("changed nothing")), "{said:?}");
    asking.wait_with_output().unwrap();
    assert_eq!(world.read("marker").lines().count(), usize::from(counted[0].is_multiple_of(2)));
}

// R11.6: the run is nobody's then, and still exactly one answer counts and is acted on.
#[test]
fn of_many_answers_after_a_crash_one_counts_and_is_acted_on() {
    for round in 0..6 {
        let world = World::strict(&json!({}));
        let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
        let asked = id(&world.pending());
        killed(asking);
        let answers = ["deny", "approve", "approve", "approve"];
        let all: Vec<Child> = (0..4)
            .map(|n| {
                let mut answering = world.pintle(&["approvals", answers[(n + round) % 4], &asked]);
                answering.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let said: Vec<Said> =
            all.into_iter().map(|c| Said::from(c.wait_with_output().unwrap())).collect();
        let approved = question(&world, &asked)["state"] == "approved";
        let word = if approved { "approved $ " } else { "denied $ " };
        let counted = |said: &Said| said.ok && said.out.contains(word);
        assert_eq!(said.iter().filter(|said| counted(said)).count(), 1, "{round}: {said:?}");
        for said in said.iter().filter(|said| !counted(said)) {
            // Whoever repeats a yes that nobody has acted on yet goes on with the run, and is told whose yes it was.
            let goes_on = said.ok && said.err.contains("was already approved by");
            let too_late = !said.ok && said.err.contains("changed nothing");
            assert!(goes_on || too_late, "{round}: {said:?}");
        }
        assert_eq!(world.read("marker").lines().count(), usize::from(approved), "{said:?}");
        goes_on(&world, 2);
    }
}

// R11.6: a yes while somebody else has the run's session, who then leaves it.
#[test]
fn a_yes_that_nobody_acts_on_is_acted_on_by_whoever_gave_it() {
    let world = World::strict(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let pending = world.pending();
    killed(asking);
    let held = stands_in_for_its_run(&world);
    let asked = id(&pending);
    let mut answering = world.pintle(&["approvals", "approve", &asked]);
    let answering = answering.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| question(&world, &asked)["state"] == "approved", "the answer");
    assert!(!world.path("marker").exists());
    drop(held);
    let said = Said::from(answering.wait_with_output().unwrap());
    assert!(said.ok && said.out.contains("it continued here"), "{said:?}");
    assert_eq!(world.read("marker"), "ran\n");
    goes_on(&world, 2);
}

// A yes is for a call that stopped with its run: a late no does not set it going.
#[test]
fn a_no_to_what_was_approved_before_a_crash_runs_nothing() {
    let world = World::strict(&json!({}));
    let asking = waiting(&world, &["-q", "run echo ran >> marker"]);
    let pending = world.pending();
    let asked = id(&pending);
    killed(asking);
    let held = stands_in_for_its_run(&world);
    assert!(approve(&world, &asked).ok);
    drop(held);
    let late = world.run(&["approvals", "deny", &asked]);
    assert!(!late.ok && late.err.contains("was already approved by"), "{late:?}");
    assert!(!world.path("marker").exists());
    let again = approve(&world, &asked);
    assert!(again.ok && again.err.contains("already approved"), "{again:?}");
    assert!(!again.out.contains("approved $ "), "its answer did not count: {again:?}");
    assert_eq!(world.read("marker"), "ran\n");
}

// R6.5: as in a chat, whoever is told to leave stops the run in order first.
#[test]
fn a_run_that_went_on_elsewhere_is_stopped_in_order() {
    let hook = json!({ "action": "command", "command": "sleep 3; touch ../heard-the-end" });
    let world = World::strict(&json!({ "hooks": { "onComplete": [hook] } })).allowing_programs();
    world.trust();
    let run = "run touch started; sleep 600";
    let asking = waiting(&world, &["--profile", "profile", "-q", run]);
    let asked = id(&world.pending());
    killed(asking);
    let mut answering = world.pintle(&["approvals", "approve", &asked]);
    let mut answering = answering.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    world.appears("started");
    signal(&answering, "TERM");
    assert_eq!(answering.wait().unwrap().code(), Some(143));
    assert!(world.path("heard-the-end").exists(), "the last hooks have their time");
    goes_on(&world, 2);
}

// P3: what was approved is what runs, also when somebody rewrites the stored conversation meanwhile.
#[test]
fn arguments_that_are_swapped_after_the_question_do_not_run() {
    let world = World::strict(&json!({}));
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
    let world = World::strict(&json!({}));
    let arguments = ["chat", "--wait-for-approval", "-q", "run echo ran >> marker"];
    let mut asking = world.pintle(&arguments);
    let asking = asking.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let asked = id(&world.pending());
    let list = world.run(&["approvals"]).out;
    let short = list.lines().nth(1).unwrap().split(' ').next().unwrap();
    let answered = approve(&world, &asked);
    assert!(!answered.err.contains("waits for an answer"), "{answered:?}");
    let said = Said::from(asking.wait_with_output().unwrap());
    let waits = "? $ echo ran >> marker · waits for an answer from operator";
    assert!(said.err.contains(waits) && !said.err.contains(&asked), "{said:?}");
    let how = format!("pintle approvals show {short} · approve {short} · deny {short}");
    assert!(said.err.contains(&how), "{said:?}");
    assert_eq!(world.read("marker"), "ran\n");
}

// P1: whoever waits without a terminal hears what became of the question.
#[test]
fn who_waits_for_an_answer_is_told_that_it_was_no_or_never_came() {
    let asks = |world: &World| {
        let mut asking = world.pintle(&["chat", "--wait-for-approval", "-q", "run touch marker"]);
        asking.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let world = World::strict(&json!({}));
    let asking = asks(&world);
    let asked = id(&world.pending());
    world.run(&["approvals", "deny", &asked, "--reason", "not on a Sunday"]);
    let said = Said::from(asking.wait_with_output().unwrap());
    assert!(said.err.contains("⊘ $ touch marker"), "{said:?}");
    assert!(said.err.contains("denied by you: \"not on a Sunday\""), "{said:?}");

    let world = World::strict(&json!({ "security": { "approvalTimeoutMs": 1000 } }));
    let arguments =
        ["chat", "--profile", "profile", "--wait-for-approval", "-q", "run touch marker"];
    let said = world.run(&arguments);
    assert!(said.err.contains("⊘ $ touch marker"), "{said:?}");
    assert!(said.err.contains("no answer in time, expired"), "{said:?}");
}
