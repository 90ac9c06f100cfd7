//! The program and a provider's API, over a real socket.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    server::{Server, Streamed, too_many_requests},
    support::{World, assert_whole},
};

#[test]
fn a_provider_that_is_busy_is_asked_again_and_its_call_is_run() {
    let world = World::new();
    let note = json!({"path": "note.txt", "content": "written by a model"});
    let server = Server::start(vec![
        too_many_requests(1),
        Streamed::new()
            .text("I write ")
            .text("it down.")
            .call("c1", "write_file", &note)
            .end("tool_calls"),
        Streamed::new().text("It is written.").end("stop"),
    ]);
    let mut command = world.command(&["chat", "-q", "write a note", "--model", "openai/gpt-4o"]);
    command.env("OPENAI_BASE_URL", &server.url).env("OPENAI_API_KEY", "sk-test-only");
    let said = world.said(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(said.out, "It is written.\n");
    assert_eq!(std::fs::read_to_string(world.file("note.txt")).unwrap(), "written by a model");

    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen[0].head.starts_with("post /v1/chat/completions"), "{}", seen[0].head);
    assert!(seen[0].head.contains("authorization: bearer sk-test-only"), "{}", seen[0].head);
    // The provider asked for a second; by itself the first retry comes after half of one.
    assert!(seen[1].at - seen[0].at >= Duration::from_millis(950));
    assert!(seen[0].body == seen[1].body, "a retry is the same request, to the byte");
    let third: Value = serde_json::from_slice(&seen[2].body).unwrap();
    let messages = third["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["role"], "tool", "{third:#}");
    assert_eq!(messages.last().unwrap()["tool_call_id"], "c1");
    assert_whole(&world.exported());
}

// A stream that stops without its end is an error, and no tool of it runs: not even one that looks complete.
#[test]
fn an_answer_without_an_end_runs_no_tool() {
    let world = World::new();
    let write = |name: &str| json!({"path": name, "content": "x"});
    let server = Server::start(vec![
        Streamed::new().text("I will").call("c1", "write_file", &write("half.txt")).cut(),
        Streamed::new()
            .text("I will")
            .call("c2", "write_file", &write("whole.txt"))
            .end("tool_calls"),
        Streamed::new().text("Written.").end("stop"),
    ]);
    let mut command = world.command(&["chat", "--json", "-q", "go", "--model", "openai/gpt-4o"]);
    command.env("OPENAI_BASE_URL", &server.url).env("OPENAI_API_KEY", "sk-test-only");
    let said = world.said(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(server.seen().len(), 3);
    assert!(!world.file("half.txt").exists());
    assert!(world.file("whole.txt").exists(), "with its end, it runs");
    let started = said.lines().iter().filter(|event| event["type"] == "tool.start").count();
    assert_eq!(started, 1, "{said}");
    let exported = world.exported();
    assert_whole(&exported);
    assert_eq!(exported["messages"].as_array().unwrap().len(), 4, "half answers are not stored");
}

// R6.4: a limit that cannot be held is not silently ignored.
#[test]
fn a_cost_limit_without_a_price_refuses_to_start_and_the_doctor_says_so() {
    let world = World::new();
    world.write("dear/agent.json", r#"{ "name": "dear", "limits": { "maxCostUsd": 1.5 } }"#);
    let server = Server::start(Vec::new());
    for (model, url) in [("openai/gpt-4o", Some(&server.url)), ("openai/some-new-model", None)] {
        for arguments in [&["chat", "-q", "hello"][..], &["doctor"]] {
            let arguments = [arguments, &["--profile", "dear", "--model", model]].concat();
            let mut command = world.command(&arguments);
            command.env("OPENAI_API_KEY", "sk-test-only");
            command.envs(url.map(|url| ("OPENAI_BASE_URL", url)));
            let said = world.said(command.output().unwrap());
            assert_eq!(said.code, Some(1), "{said}");
            let told = said.to_string();
            assert!(told.contains("maxCostUsd") && told.contains("is not known"), "{told}");
        }
    }
    assert!(server.seen().is_empty(), "nothing was spent");
    // What costs nothing, or has a price, is no problem.
    let said = world.run(&["chat", "-q", "list .", "--profile", "dear", "--model", "offline"]);
    assert_eq!(said.code, Some(0), "{said}");
    let mut priced = world.command(&["doctor", "--profile", "dear", "--model", "openai/gpt-4o"]);
    let said = world.said(priced.env("OPENAI_API_KEY", "sk-test-only").output().unwrap());
    assert_eq!(said.code, Some(0), "{said}");
}
