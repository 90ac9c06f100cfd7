//! A tool runs at most once, and never silently (R11.6): kill -9 between intent, effect, result and message, and a process
//! that slept while another took its session over (R19.2). Marker files are the witnesses.

use std::{
    fs::File,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{World, until};

const SESSION: [&str; 3] = ["chat", "--session", "cli:ledger"];

/// A run of these commands, one call each, whose events go to the file `events`.
fn starts(world: &World, commands: &[&str]) -> Child {
    let call = |(n, command): (usize, &&str)| json!({ "id": format!("t{n}"), "name": "terminal", "input": { "command": command } });
    let calls: Vec<_> = commands.iter().enumerate().map(call).collect();
    world.write("play.json", &json!([{ "toolCalls": calls }, { "text": "Done." }]).to_string());
    let arguments =
        [&SESSION[..], &["--json", "--model", "scripted:play.json", "-q", "go"]].concat();
    let events = File::create(world.path("events")).unwrap();
    world.pintle(&arguments).stdout(events).stderr(Stdio::null()).spawn().unwrap()
}

fn events(world: &World) -> Vec<Value> {
    world.read("events").lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn killed(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The next message in the session, and the results that the conversation has of the calls before it.
fn goes_on(world: &World) -> (Vec<Value>, Vec<(bool, String)>) {
    let said = world.run(&[&SESSION[..], &["--json", "-q", "hello"]].concat());
    assert!(said.ok, "{said:?}");
    let events = said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (events, results(world))
}

fn results(world: &World) -> Vec<(bool, String)> {
    let export = world.run(&["sessions", "export", "cli:ledger"]);
    let session: Value = serde_json::from_str(&export.out).unwrap();
    let messages = session["messages"].as_array().unwrap().iter();
    let results = messages.filter_map(|message| message["message"]["results"].as_array()).flatten();
    let result = |it: &Value| {
        (it["isError"].as_bool().unwrap(), it["content"].as_str().unwrap().to_string())
    };
    results.map(result).collect()
}

fn is_unknown((is_error, text): &(bool, String)) -> bool {
    *is_error && text.contains("the outcome is unknown")
}

fn unknown_ends(events: &[Value]) -> usize {
    let is_unknown = |event: &&Value| event["type"] == "tool.end" && event["outcome"] == "unknown";
    events.iter().filter(is_unknown).count()
}

#[test]
fn between_the_intent_and_the_effect() {
    let world = World::new(&json!({}));
    let run = starts(&world, &["touch started; sleep 5; echo ran >> marker"]);
    world.appears("started");
    killed(run);
    let (events, results) = goes_on(&world);
    assert!(results.len() == 1 && is_unknown(&results[0]), "{results:?}");
    assert_eq!(unknown_ends(&events), 1, "the person reads it too: {events:#?}");
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(world.read("marker"), "", "it ended with its run, and did not run again");
    let (events, _) = goes_on(&world);
    assert_eq!(unknown_ends(&events), 0, "it is said once");
}

#[test]
fn between_the_effect_and_the_result() {
    let world = World::new(&json!({}));
    let run = starts(&world, &["echo ran >> marker; sleep 60"]);
    world.appears("marker");
    killed(run);
    let quiet = world.run(&[&SESSION[..], &["-q", "hello"]].concat());
    let told = quiet.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the outcome is unknown"), "{quiet:?}");
    let results = results(&world);
    assert!(results.len() == 1 && is_unknown(&results[0]), "{results:?}");
    assert_eq!(world.read("marker"), "ran\n");
}

#[test]
fn between_the_result_and_the_message() {
    let world = World::new(&json!({}));
    let run = starts(&world, &["echo ran | tee -a marker", "touch started; sleep 60"]);
    world.appears("started");
    let ended = || events(&world).iter().any(|it| it["type"] == "tool.end" && it["ok"] == true);
    until(ended, "the end of the first call");
    killed(run);
    let (events, results) = goes_on(&world);
    let [first, second] = results.as_slice() else { panic!("{results:?}") };
    assert!(!first.0 && first.1.contains("ran"), "its result was stored: {first:?}");
    assert!(is_unknown(second), "{second:?}");
    assert_eq!(unknown_ends(&events), 1);
    assert_eq!(world.read("marker"), "ran\n");
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn a_process_that_slept_through_losing_its_claim_writes_nothing_and_ends_its_processes() {
    let world = World::new(&json!({}));
    let beats = "while :; do date +%N > beat; sleep 0.05; done";
    let waits = "touch started; until [ -e go ]; do sleep 0.05; done";
    let mut sleeper = starts(&world, &[waits, beats]);
    world.appears("started");
    world.appears("beat");
    // Records are written in the background: the run is known before its process stops.
    let is_recorded = || world.run(&["trace", "--json"]).out.matches("tool.start").count() == 2;
    crate::support::until(is_recorded, "the record of both calls");
    signal(&sleeper, "STOP");
    // A stopped process keeps its lock. Whoever removes the file takes its claims away.
    std::fs::remove_dir_all(world.data("locks")).unwrap();
    let (_, taken_over) = goes_on(&world);
    assert!(taken_over.len() == 2 && taken_over.iter().all(is_unknown), "{taken_over:?}");
    let before = world.run(&["sessions", "export", "cli:ledger"]).out;
    let runs_before = world.run(&["trace", "--json"]).out;

    world.write("go", "");
    signal(&sleeper, "CONT");
    assert!(!sleeper.wait().unwrap().success());
    let said = events(&world);
    let error = said.iter().find(|event| event["type"] == "error").unwrap();
    assert_eq!(error["code"], "claim_lost", "{error}");
    assert_eq!(world.run(&["sessions", "export", "cli:ledger"]).out, before);
    assert_eq!(world.run(&["trace", "--json"]).out, runs_before);
    let last_beat = world.read("beat");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(world.read("beat"), last_beat, "its processes have ended");
    // The sleeper's run is closed as interrupted, and took no more records.
    let sleeper_run = said[0]["runId"].as_str().unwrap();
    let trace = world.run(&["trace", sleeper_run, "--json"]);
    let trace: Value = serde_json::from_str(&trace.out).unwrap();
    assert_eq!(trace["run"]["outcome"], "interrupted", "{trace:#}");
    let recorded = trace["events"].as_array().unwrap();
    assert!(recorded.iter().all(|event| event["type"] != "done"), "{trace:#}");
}
