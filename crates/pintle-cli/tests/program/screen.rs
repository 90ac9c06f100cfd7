//! What stays on a terminal, and what is said about what is waited for.

use serde_json::json;

use crate::{
    support::{World, is_gone},
    terminal::{CTRL_C, keys, play, wait, wait_for_prompt, wait_for_question},
};

#[test]
fn what_hooks_log_stands_on_lines_of_its_own() {
    let world = World::new();
    let log = |name: &str| json!([{"action": "log", "name": name}]);
    let hooks = json!({"onPrompt": log("first"), "onModelCall": log("second"), "onToolCall": log("third"), "onComplete": log("last")});
    world.write("logs/agent.json", json!({"name": "logs", "hooks": hooks}).to_string());
    let call = json!({"id": "t1", "name": "list_dir", "input": {"path": "."}});
    let script = json!([
        {"text": "I look.", "toolCalls": [call]},
        {"delayMs": 300, "text": "Nothing."},
    ]);
    let model = world.script("script.json", &script);
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait("Nothing."),
        // It may come when somebody types already: then it goes above what they type.
        wait("last session.end"),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--profile", "logs", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    let lines: Vec<_> = screen.rendered.lines().collect();
    assert!(!screen.rendered.contains("thinking"), "{}", screen.rendered);
    for name in
        ["first user.prompt.submit", "second model.pre", "third tool.pre", "last session.end"]
    {
        let start = format!("info  {name} ");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{name}: {}", screen.rendered);
    }
    for line in ["I look.", "Nothing."] {
        assert!(lines.contains(&line), "{line}: {}", screen.rendered);
    }
    assert!(lines.iter().any(|line| line.starts_with("› /quit")), "{}", screen.rendered);
}

// A terminal turns Enter into Ctrl-J as long as it is not read key by key.
#[test]
fn lines_that_are_typed_during_a_run_are_the_next_messages() {
    let world = World::new();
    let script = json!([
        {"text": "First."},
        {"delayMs": 500, "text": "Second."},
        {"text": "Third."},
    ]);
    let model = world.script("script.json", &script);
    let steps = [
        wait_for_prompt(),
        keys("one\r"),
        wait("First."),
        wait_for_prompt(),
        keys("two\r"),
        wait("thinking"),
        keys("three\r/quit\r"),
        wait("Third."),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    for line in ["› three", "› /quit"] {
        assert!(screen.rendered.lines().any(|it| it.starts_with(line)), "{}", screen.rendered);
    }
}

#[test]
fn the_tool_that_still_runs_is_named_with_the_last_line_it_wrote() {
    let world = World::strict();
    let list = json!({"id": "t1", "name": "list_dir", "input": {"path": "."}});
    let command = "echo step one; echo step two; while [ ! -e go ]; do sleep 0.02; done";
    let slow = json!({"id": "t2", "name": "terminal", "input": {"command": command}});
    let model = world.script("two.json", &json!([{"toolCalls": [list, slow]}, {"text": "End."}]));
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait_for_question(),
        keys("y"),
        wait("list ."),
        wait("step two"),
        json!({"make": world.file("go")}),
        wait("End."),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!screen.rendered.contains("· step two"), "{}", screen.rendered);
}

#[test]
fn a_server_that_takes_its_time_is_named_and_need_not_be_waited_for() {
    for arguments in [&["chat"][..], &["chat", "-q", "hello"], &["doctor"]] {
        let world = World::new();
        let wait_for_ever = "echo $$ > waiting; while :; do sleep 0.05; done";
        let server = json!({"command": "/bin/sh", "args": ["-c", wait_for_ever]});
        let profile = json!({"name": "slow", "mcpServers": {"sleepy": server}});
        world.write("slow/agent.json", profile.to_string());
        assert_eq!(world.run(&["trust", "slow", "--accept"]).code, Some(0));
        let steps = [wait("starting sleepy…"), keys(CTRL_C)];
        let screen = play(&world, &[arguments, &["--profile", "slow"]].concat(), &steps);
        assert_eq!(screen.code, 130, "{}", screen.text);
        assert!(!screen.rendered.contains("starting"), "{}", screen.rendered);
        is_gone(&world.file("slow/waiting"));
    }
}

#[test]
fn whoever_ends_the_program_at_a_prompt_gets_the_terminal_back() {
    let world = World::strict();
    for (signal, code) in [("SIGTERM", 143), ("SIGHUP", 129)] {
        let at_prompt =
            [wait_for_prompt(), keys("half a li"), wait("half a li"), json!({"signal": signal})];
        let screen = play(&world, &["chat"], &at_prompt);
        assert_eq!(screen.code, code, "{}", screen.text);
        assert!(screen.reads_lines, "{}", screen.text);
        let at_question = [wait_for_question(), json!({"signal": signal})];
        let screen = play(&world, &["chat", "-q", "run touch made.txt"], &at_question);
        assert_eq!(screen.code, code, "{}", screen.text);
        assert!(screen.reads_lines, "{}", screen.text);
        assert!(!world.file("made.txt").exists());
    }
}
