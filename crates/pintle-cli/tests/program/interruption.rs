//! Ctrl-C and `kill -9`: whenever it ends, the conversation can go on.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Said, World, assert_whole, holds, is_gone, signal};

/// Says that it was reached by a file, then takes far longer than a test waits.
fn slow_model(world: &World) -> String {
    let reached =
        json!({"id": "t1", "name": "write_file", "input": {"path": "reached", "content": ""}});
    let script = json!([{"toolCalls": [reached]}, {"delayMs": 600_000, "text": "Late."}]);
    world.script("slow-model.json", &script)
}

/// The same in the middle of a tool: a sub-agent whose model is slow.
fn slow_tool(world: &World) -> String {
    let reached =
        json!({"id": "t1", "name": "write_file", "input": {"path": "reached", "content": ""}});
    let task = json!({"id": "t2", "name": "delegate", "input": {"task": "take your time"}});
    let script = json!([{"toolCalls": [reached, task]}, {"delayMs": 600_000, "text": "Late."}]);
    world.script("slow-tool.json", &script)
}

fn ended(world: &World, mut child: Child) -> Said {
    let asked = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if asked.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it did not end: {}", world.said(child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    world.said(child.wait_with_output().unwrap())
}

fn assert_goes_on(world: &World) {
    let next = world.run(&["chat", "--continue", "-q", "list ."]);
    assert_eq!(next.code, Some(0), "{next}");
    assert!(next.out.contains("reached"), "{next}");
    assert_whole(&world.exported());
}

// R6.5
#[test]
fn an_interrupt_stops_the_run_in_order() {
    let world = World::new();
    for (model, tool) in [(slow_model(&world), false), (slow_tool(&world), true)] {
        let child = world.start(&["chat", "-q", "go", "--model", &model, "--new"]);
        world.wait_for("reached");
        signal(&child, "INT");
        let said = ended(&world, child);
        assert_eq!(said.code, Some(1), "{said}");
        assert_eq!(said.out, "");
        assert!(said.err.contains("error: the run was stopped"), "{said}");
        let last = world.run(&["trace", "--json"]).json();
        if !tool {
            assert_eq!(last["run"]["outcome"], "aborted");
        }
        assert_goes_on(&world);
        std::fs::remove_file(world.file("reached")).unwrap();
    }
}

#[test]
fn an_interrupt_is_an_event_like_any_other_for_machines() {
    let world = World::new();
    let model = slow_model(&world);
    let child = world.start(&["chat", "--json", "-q", "go", "--model", &model]);
    world.wait_for("reached");
    signal(&child, "INT");
    let said = ended(&world, child);
    assert_eq!(said.code, Some(1), "{said}");
    let events = said.lines();
    let done: Vec<&Value> = events.iter().filter(|event| event["type"] == "done").collect();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["outcome"], "aborted");
    assert_goes_on(&world);
}

/// A profile whose last hook waits for a file before it lets the program go.
fn slow_to_leave(world: &World) {
    let wait = "echo $$ > ../waiting; while [ ! -e ../go ]; do sleep 0.02; done";
    let hook = json!({"action": "command", "name": "last", "command": wait, "timeoutMs": 600_000});
    let profile = json!({"name": "slow to leave", "hooks": {"onComplete": [hook]}});
    world.write("slow/agent.json", profile.to_string());
    let accepted = world.run(&["trust", "slow", "--accept"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
}

fn start_slow_to_leave(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command(&[arguments, &["--profile", "slow"]].concat());
    command.env("PINTLE_ALLOW_COMMAND_HOOKS", "1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn first_line(from: Option<impl Read>) -> String {
    let mut line = String::new();
    BufReader::new(from.unwrap()).read_line(&mut line).unwrap();
    line
}

// Step 12: slow handlers delay nothing the user sees; the process waits for them before it exits.
#[test]
fn the_answer_does_not_wait_for_the_last_handlers_but_the_program_does() {
    let world = World::new();
    slow_to_leave(&world);
    let mut child = start_slow_to_leave(&world, &["chat", "-q", "list ."]);
    assert_eq!(first_line(child.stdout.take()), "In `.` there is:\n");
    assert!(child.try_wait().unwrap().is_none(), "the last hook is still waited for");
    world.write("go", "");
    assert_eq!(ended(&world, child).code, Some(0));
}

#[test]
fn an_interrupt_after_the_answer_ends_the_wait_for_the_last_handlers() {
    let world = World::new();
    slow_to_leave(&world);
    let mut child = start_slow_to_leave(&world, &["chat", "-q", "list ."]);
    assert_eq!(first_line(child.stdout.take()), "In `.` there is:\n");
    world.wait_for("waiting");
    signal(&child, "INT");
    assert_eq!(ended(&world, child).code, Some(130));
    is_gone(&world.file("waiting"));
}

// P5
#[test]
fn a_program_that_is_killed_takes_its_hooks_along() {
    let world = World::new();
    slow_to_leave(&world);
    let mut child = start_slow_to_leave(&world, &["chat", "-q", "list ."]);
    world.wait_for("waiting");
    signal(&child, "KILL");
    assert!(!child.wait().unwrap().success());
    is_gone(&world.file("waiting"));
}

#[test]
fn a_second_interrupt_ends_the_program_at_once() {
    let world = World::new();
    slow_to_leave(&world);
    let model = slow_model(&world);
    let mut child = start_slow_to_leave(&world, &["chat", "-q", "go", "--model", &model]);
    world.wait_for("reached");
    signal(&child, "INT");
    let told = first_line(child.stderr.take());
    assert!(told.contains("error: the run was stopped"), "{told}");
    world.wait_for("waiting");
    signal(&child, "INT");
    assert_eq!(ended(&world, child).code, Some(130));
    is_gone(&world.file("waiting"));
    assert_goes_on(&world);
}

// Whether the second one still meets the run or not: it ends, and not well.
#[test]
fn two_interrupts_end_the_program() {
    let world = World::new();
    for mode in [&["chat", "-q"][..], &["chat", "--json", "-q"]] {
        let model = slow_tool(&world);
        let child = world.start(&[mode, &["go", "--model", &model]].concat());
        world.wait_for("reached");
        signal(&child, "INT");
        signal(&child, "INT");
        let said = ended(&world, child);
        assert!(matches!(said.code, Some(1 | 130)), "{said}");
        assert_goes_on(&world);
        std::fs::remove_file(world.file("reached")).unwrap();
    }
}

/// A profile that says, by a file each, that a run has ended and that its last hook was let finish.
fn says_when_it_ends(world: &World) {
    let hook = |file: &str| json!({"action": "command", "name": file, "command": format!("echo ended >> ../{file}")});
    let profile = json!({"name": "tells", "hooks": {"onComplete": [hook("completed")]}});
    world.write("tells/agent.json", profile.to_string());
    assert_eq!(world.run(&["trust", "tells", "--accept"]).code, Some(0));
}

// `kill`, a service that is stopped, a terminal that is closed: the run is stopped in order before the program ends.
#[test]
fn being_told_to_leave_stops_the_run_in_order() {
    let modes = [&["chat", "-q", "go"][..], &["chat", "--json", "-q", "go"], &["chat"]];
    // Both signals take the same way; each way into a conversation is its own.
    for (name, code, modes) in [("TERM", 143, &modes[..]), ("HUP", 129, &modes[2..])] {
        for mode in modes {
            let world = World::new();
            says_when_it_ends(&world);
            let model = slow_model(&world);
            let rest = ["--model", &model, "--profile", "tells"];
            let mut command = world.command(&[*mode, &rest].concat());
            command.env("PINTLE_ALLOW_COMMAND_HOOKS", "1").stdin(Stdio::piped());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"go\n").unwrap();
            world.wait_for("reached");
            signal(&child, name);
            let said = ended(&world, child);
            assert_eq!(said.code, Some(code), "{name} {mode:?} {said}");
            assert!(holds(&world.file("completed"), b"ended\n"), "{name} {mode:?} {said}");
            let last = world.run(&["trace", "--json"]).json();
            assert_eq!(last["run"]["outcome"], "aborted", "{name} {mode:?} {said}");
            assert_goes_on(&world);
        }
    }
}

#[test]
fn being_told_to_leave_between_messages_ends_the_conversation_in_order() {
    let world = World::new();
    says_when_it_ends(&world);
    let mut command = world.command(&["chat", "--profile", "tells"]);
    command.env("PINTLE_ALLOW_COMMAND_HOOKS", "1").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"write reached: x\n").unwrap();
    world.wait_for("completed");
    signal(&child, "TERM");
    assert_eq!(ended(&world, child).code, Some(143));
    assert_goes_on(&world);
}

#[test]
fn being_told_twice_to_leave_ends_the_last_handlers_too() {
    let world = World::new();
    slow_to_leave(&world);
    let model = slow_model(&world);
    let child = start_slow_to_leave(&world, &["chat", "-q", "go", "--model", &model]);
    world.wait_for("reached");
    signal(&child, "TERM");
    world.wait_for("waiting");
    signal(&child, "TERM");
    assert_eq!(ended(&world, child).code, Some(143));
    is_gone(&world.file("waiting"));
    assert_goes_on(&world);
}

#[test]
fn an_interrupt_between_messages_ends_a_conversation_on_a_pipe() {
    let world = World::new();
    let mut command = world.command(&["chat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"list .\n").unwrap();
    // The pipe stays open, and nothing more comes.
    let started = Instant::now();
    while !world.run(&["trace", "--json"]).out.contains("\"type\":\"done\"") {
        assert!(started.elapsed() < Duration::from_secs(60), "the run does not end");
    }
    signal(&child, "INT");
    assert_eq!(ended(&world, child).code, Some(130));
    drop(input);
}

// R6.5
#[test]
fn a_kill_in_the_middle_of_a_tool_leaves_no_call_without_a_result() {
    let world = World::new();
    let model = slow_tool(&world);
    let mut child = world.start(&["chat", "-q", "go", "--model", &model]);
    world.wait_for("reached");
    child.kill().unwrap();
    assert_eq!(ended(&world, child).code, None);
    assert_goes_on(&world);
    let exported = world.exported();
    let results = exported["messages"][2]["message"]["results"].as_array().unwrap().clone();
    let told: Vec<_> = results.iter().map(|result| &result["toolCallId"]).collect();
    assert_eq!(told, ["t1", "t2"]);
    assert_eq!(results[1]["isError"], true, "{results:#?}");
}
