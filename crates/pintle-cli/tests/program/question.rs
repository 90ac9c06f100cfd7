//! `pintle chat -q`: one question, one answer on standard output, an exit code.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{World, assert_whole};

#[test]
fn only_the_answer_is_on_standard_output() {
    let world = World::new();
    world.write("notes.txt", "hooks you can rely on\n");
    let said = world.run(&["chat", "-q", "read notes.txt"]);
    assert_eq!(said.out, "`notes.txt` says:\n\nhooks you can rely on\n");
    assert_eq!((said.err.as_str(), said.code), ("", Some(0)));
}

#[test]
fn what_the_model_says_on_the_way_is_not_the_answer() {
    let world = World::new();
    let list = json!({"id": "t1", "name": "list_dir", "input": {"path": "."}});
    let script = json!([
        {"text": "Let me look.", "toolCalls": [list]},
        {"text": "There is nothing."},
    ]);
    let model = world.script("script.json", &script);
    let said = world.run(&["chat", "-q", "what is here?", "--model", &model]);
    assert_eq!(said.out, "There is nothing.\n", "{said}");
}

// R11.5
#[test]
fn without_a_terminal_there_is_no_one_to_ask_and_that_is_said_at_once() {
    let world = World::strict();
    assert_snapshot!(world.transcript(&[&["chat", "-q", "run touch here"]]));
    assert!(!world.file("here").exists());
}

#[test]
fn a_blocked_call_never_runs_and_the_answer_says_why() {
    let world = World::new();
    world.write("precious.txt", "");
    let wipe = format!("run rm -rf / --no-preserve-root; rm {}", world.file("*").display());
    let said = world.run(&["chat", "-q", &wipe]);
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains("deletes a folder the system or its user lives in"), "{said}");
    assert!(world.file("precious.txt").exists());
}

#[test]
fn a_failure_is_told_on_standard_error_and_by_the_exit_code() {
    let world = World::new();
    let failing = world
        .script("failing.json", &json!([{"error": {"code": "auth", "message": "no such key"}}]));
    let refusing = world.script("refusing.json", &json!([{"text": "No.", "finish": "refusal"}]));
    let used_up = world.script("empty.json", &json!([]));
    let mut transcript = String::new();
    for model in [failing, refusing, used_up] {
        let said = world.run(&["chat", "-q", "hello", "--model", &model]);
        assert_eq!(said.out, "", "{said}");
        transcript.push_str(&said.to_string());
    }
    assert_snapshot!(transcript);
}

// R6.4
#[test]
fn three_denials_in_a_row_end_it() {
    let world = World::strict();
    let call = |n| {
        let input = json!({"command": format!("touch {n}")});
        json!({"toolCalls": [{"id": format!("t{n}"), "name": "terminal", "input": input}]})
    };
    let model = world.script("stubborn.json", &json!([call(1), call(2), call(3), call(4)]));
    let said = world.run(&["chat", "-q", "touch them", "--model", &model]);
    assert_eq!(said.code, Some(1));
    assert_snapshot!(said.to_string());
    assert_whole(&world.exported());
}

#[test]
fn a_conversation_goes_on_from_process_to_process() {
    let world = World::new();
    world.write("a.txt", "first");
    world.write("b.txt", "second");
    assert_eq!(world.run(&["chat", "-q", "read a.txt", "--session", "mine"]).code, Some(0));
    assert_eq!(world.run(&["chat", "-q", "read b.txt", "--session", "mine"]).code, Some(0));
    let exported = world.run(&["sessions", "export", "mine"]).json();
    assert_eq!(exported["session"]["messageCount"], 8);
    assert_eq!(exported["messages"][4]["message"]["text"], "read b.txt");
    assert_whole(&exported);

    let new = world.run(&["chat", "-q", "read a.txt", "--session", "mine", "--new"]);
    assert_eq!(new.code, Some(0));
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    let counts: Vec<_> = sessions.as_array().unwrap().iter().map(|s| &s["messageCount"]).collect();
    assert_eq!(counts, [4, 8], "the older one is left alone");
}

#[test]
fn the_model_may_be_named_by_the_environment_and_the_flag_wins() {
    let world = World::new();
    let model = world.script("script.json", &json!([{"text": "I am scripted."}]));
    let ask = |arguments: &[&str]| {
        world.said(world.command(arguments).env("PINTLE_MODEL", &model).output().unwrap())
    };
    assert_eq!(ask(&["chat", "-q", "hello"]).out, "I am scripted.\n");
    assert!(ask(&["chat", "-q", "hello", "--model", "offline"]).out.contains("offline model"));
}

#[test]
fn the_data_folder_may_be_named_by_the_environment() {
    let world = World::new();
    let elsewhere = world.file("elsewhere");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pintle"));
    command.args(["chat", "-q", "hello"]).env_clear().env("PINTLE_DATA", &elsewhere);
    command.current_dir(world.file("")).stdin(std::process::Stdio::null());
    assert_eq!(world.said(command.output().unwrap()).code, Some(0));
    assert!(elsewhere.join("pintle.db").is_file());
}

// No colour and no motion where nobody sees it.
#[test]
fn a_pipe_gets_plain_text() {
    let world = World::new();
    for said in [world.run(&["chat", "-q", "list ."]), world.run(&["demo"]), world.run(&["doctor"])]
    {
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let world = World::new();
    let mut child = world.start(&["hooks", "schema", "--json"]);
    // Closed before anything can have been written.
    drop(child.stdout.take());
    let said = world.said(child.wait_with_output().unwrap());
    assert!(!said.err.contains("panicked"), "{said}");
}
