//! Nothing is silent: what a hook says in vain, what it fails to do, and which profile is not in force.

use serde_json::{Value, json};

use crate::support::{Said, Talk, World, until};

/// A worker that always says this.
fn worker(result: &str) -> String {
    format!(
        "#!/bin/sh\nwhile read -r line; do\n  id=${{line#*\\\"id\\\":}}; id=${{id%%[,\\}}]*}}\n  printf '{{\"id\":%s,\"result\":%s}}\\n' \"$id\" '{result}'\ndone\n"
    )
}

fn gate(worker: bool) -> World {
    let hook =
        json!({ "action": "command", "name": "gate", "argv": ["hooks/gate.sh"], "worker": worker });
    World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs()
}

/// The notes at the hook `gate` in what was recorded of the last run.
fn notes(world: &World) -> Vec<Value> {
    let trace: Value = serde_json::from_str(&world.run(&["trace", "--json"]).out).unwrap();
    let fired = trace["events"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|event| event["handlers"].as_array().cloned().unwrap_or_default());
    fired.filter(|handler| handler["name"] == "gate").map(|gate| gate["notes"].clone()).collect()
}

/// A gate whose program, or worker, always says this.
fn answering(lasting: bool, answer: &str) -> World {
    let world = gate(lasting);
    let once = format!("#!/bin/sh\ncat > /dev/null\nprintf '%s' '{answer}'\n");
    world.script("profile/hooks/gate.sh", &if lasting { worker(answer) } else { once });
    world.trust();
    world
}

// R8.2
#[test]
fn what_is_ignored_of_an_answer_is_in_the_record() {
    for lasting in [false, true] {
        let world = answering(lasting, r#"{"continue": false, "reason": "never", "mood": "good"}"#);
        let said = world.ask("write a.txt: x");
        assert!(!world.path("a.txt").exists(), "{said:?}");
        let note = "ignored unknown field `mood`";
        assert_eq!(notes(&world), [json!([note])]);
        assert_eq!(world.run(&["trace"]).out.matches(note).count(), 1);
        let json = ["chat", "--profile", "profile", "--json", "-q", "write a.txt: x"];
        let machine = world.run(&json);
        let fired = machine.out.lines().find(|event| event.contains(r#""name":"gate""#)).unwrap();
        assert!(fired.contains(r#""notes":["ignored "#), "{machine:?}");
    }
}

// R8.2: the tool does not run, and the reason is there.
#[test]
fn a_no_in_the_words_of_another_agent_is_heard() {
    for (answer, reason) in [
        (r#"{"decision": "block", "reason": "secrets in file"}"#, "secrets in file"),
        (
            r#"{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "frozen"}}"#,
            "frozen",
        ),
        (
            r#"{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}"#,
            "sure?",
        ),
        (r#"{"continu": false, "reason": "x"}"#, "`continu` is unknown"),
        (r#"{"permission": "allow"}"#, "`permission` is unknown"),
    ] {
        for lasting in [false, true] {
            let world = answering(lasting, answer);
            world.ask("write a.txt: x");
            assert!(!world.path("a.txt").exists(), "{answer}");
            let trace = world.run(&["trace"]);
            let words = trace.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(reason), "{answer}: {trace:?}");
        }
    }
}

/// A conversation in which a folder lies where the file should be, since the profile was read.
fn unsaved(world: &World) -> Talk<'_> {
    let talk = world.talk(&[]);
    until(|| world.data("pintle.db").exists(), "the agent");
    std::fs::create_dir_all(world.path("profile/log/audit.jsonl")).unwrap();
    talk
}

// P6
/// Lines are wrapped at words.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_line_that_could_not_be_saved_is_told_wherever_it_was_to_be() {
    for bucket in ["onStart", "onModelCall", "onModelEnd", "onToolEnd", "onComplete"] {
        let hook = json!({ "action": "save_json", "name": "audit", "path": "log/audit.jsonl" });
        let world = World::new(&json!({ "hooks": { bucket: [hook] } }));
        let mut talk = unsaved(&world);
        talk.settle("a.txt");
        let said = talk.end();
        let told = said.err.lines().filter(|line| line.contains("audit at ")).count();
        assert!(told > 0 && unwrapped(&said.err).contains("cannot be saved"), "{bucket}: {said:?}");
        if matches!(bucket, "onStart" | "onToolEnd" | "onComplete") {
            assert_eq!(told, 1, "{bucket}: {said:?}");
        }
    }
}

// P6
#[test]
fn a_line_that_could_not_be_saved_is_told_to_whoever_asks_one_question() {
    let hook = json!({ "action": "save_json", "name": "audit", "path": "ro/x.jsonl" });
    let world = World::new(&json!({ "hooks": { "onToolEnd": [hook] } }));
    let said = Said::from(
        world
            .pintle_in("profile", &["chat", "--profile", ".", "-q", "write ro: x"])
            .output()
            .unwrap(),
    );
    assert_eq!(said.err.matches("audit at tool.post").count(), 1, "{said:?}");
    assert!(said.err.contains("the line cannot be saved"), "{said:?}");
}

// P6: also at the end of a sub-agent's run, once for each.
#[test]
fn the_end_of_each_run_is_told_of_once() {
    let hook = json!({ "action": "save_json", "name": "audit", "path": "log/audit.jsonl" });
    let world = World::new(&json!({ "hooks": { "onComplete": [hook] } }));
    let mut talk = unsaved(&world);
    talk.say("delegate: write child.txt: x");
    talk.settle("a.txt");
    let said = talk.end();
    assert_eq!(said.err.matches("audit at session.end").count(), 3, "{said:?}");
}

#[test]
fn machines_have_the_end_among_the_events_and_nothing_beside() {
    let hook = json!({ "action": "command", "name": "audit", "command": "exit 1" });
    let world = World::new(&json!({ "hooks": { "onComplete": [hook] } })).allowing_programs();
    world.trust();
    let events = world.run(&["chat", "--profile", "profile", "--json", "-q", "hello"]);
    assert!(events.out.contains(r#""type":"hook.blocked","point":"session.end""#), "{events:?}");
    assert!(!events.err.contains("audit at"), "{events:?}");
}

const OLDER: &str = "an older version is in force";

// R10.4: a broken profile keeps the old one, and that stays told for as long as it is so.
#[test]
fn an_older_profile_in_force_is_told_at_every_run_and_in_the_list_of_hooks() {
    let denying = json!({ "name": "first", "policies": [{ "tool": "write_file", "kind": "path", "deny": ["no-*"] }] });
    let world = World::new(&denying);
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    talk.say("/hooks");
    talk.settle("looked.txt");
    world.agent(&json!({ "polices": [] }));
    talk.settle("b.txt");
    talk.settle("c.txt");
    talk.settle("d.txt");
    talk.say("/hooks");
    talk.settle("e.txt");
    world.agent(&json!({ "name": "second" }));
    talk.settle("f.txt");
    talk.settle("g.txt");
    talk.say("/hooks");
    let said = talk.end();
    // With the reason at first, then once a run.
    assert_eq!(said.err.matches("the old version stays in force").count(), 1, "{said:?}");
    assert_eq!(said.err.matches(OLDER).count(), 3, "{said:?}");
    assert_eq!(said.out.matches(OLDER).count(), 1, "{said:?}");
    let named = |name: &str| said.out.matches(&format!("profile: {name} · ")).count();
    assert_eq!((named("first"), named("second")), (2, 1), "{said:?}");
}
