//! Commands that go on while the agent works. The witness is a file that grows as long as they live.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, World};

const TICKS: &str = "while :; do echo tick >> ticks.txt; sleep 0.02; done";

fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({ "toolCalls": [{ "id": id, "name": tool, "input": input }] })
}

/// Plays these calls and gives what each came to.
fn play(world: &World, mut calls: Vec<Value>) -> Vec<Value> {
    calls.push(json!({ "text": "done" }));
    let model = world.script("script.json", &json!(calls));
    let said = world.run(&["chat", "--json", "-q", "go", "--model", &model]);
    let events = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["type"] == "tool.end").collect()
}

fn ticks(world: &World) -> usize {
    std::fs::read_to_string(world.file("ticks.txt")).unwrap_or_default().lines().count()
}

/// Waits until the file grows no more.
fn stops(world: &World) {
    let asked = Instant::now();
    let mut seen = ticks(world);
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = ticks(world);
        if now == seen {
            return;
        }
        assert!(asked.elapsed() < PATIENCE, "it goes on");
        seen = now;
    }
}

#[test]
fn a_command_in_the_background_goes_on_is_listed_and_stops_when_told() {
    let world = World::new();
    let wait = "n=$(wc -l < ticks.txt); until [ $(wc -l < ticks.txt) -gt $((n + 3)) ]; do sleep 0.02; done";
    let ends = play(
        &world,
        vec![
            call("t1", "terminal", json!({ "command": TICKS, "background": true })),
            call("t2", "terminal", json!({ "command": wait })),
            call("t3", "processes", json!({})),
            call("t4", "processes", json!({ "action": "stop", "number": 1 })),
            call(
                "t5",
                "terminal",
                json!({ "command": "wc -l < ticks.txt; sleep 0.3; wc -l < ticks.txt" }),
            ),
            call("t6", "processes", json!({ "action": "output", "number": 1 })),
        ],
    );
    let content = |at: usize| ends[at]["content"].as_str().unwrap_or_default().to_owned();
    assert!(content(0).contains("it goes on in the background as number 1"), "{ends:?}");
    assert_eq!(ends[1]["ok"], true, "it grows while another command runs");
    assert_eq!(content(2), format!("1 running: {TICKS}"));
    assert_eq!(ends[3]["ok"], true, "{ends:?}");
    let counts: Vec<String> = content(4).lines().map(str::to_owned).collect();
    assert_eq!(counts[0], counts[1], "it grew after it was stopped");
    assert!(ends[5]["error"].as_str().unwrap().contains("there is no command 1 in the background"));
}

#[test]
fn what_goes_on_in_the_background_ends_with_the_session() {
    let world = World::new();
    let ends =
        play(&world, vec![call("t1", "terminal", json!({ "command": TICKS, "background": true }))]);
    assert_eq!(ends[0]["ok"], true, "{ends:?}");
    assert!(ticks(&world) > 0);
    stops(&world);
}

#[test]
fn a_command_that_ends_at_once_is_an_error_and_not_in_the_background() {
    let world = World::new();
    let ends = play(
        &world,
        vec![
            call("t1", "terminal", json!({ "command": "echo oops; exit 3", "background": true })),
            call("t2", "processes", json!({ "action": "list" })),
        ],
    );
    let error = ends[0]["error"].as_str().unwrap();
    assert!(error.contains("oops") && error.contains("it ended at once: exit code 3"), "{error}");
    assert_eq!(ends[1]["content"], "no command runs in the background");
}
