//! `pintle chat` at a terminal: what a person sees of a run, and what the keys do.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    support::{World, settled},
    terminal::{CTRL_C, CTRL_D, keys, play, play_at, wait, wait_for_prompt, wait_for_question},
};

fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({"id": id, "name": tool, "input": input})
}

fn command(id: &str, command: &str) -> Value {
    call(id, "terminal", json!({ "command": command }))
}

/// The screen without what differs from run to run: times, and how far right they stand.
pub(crate) fn without_times(rendered: &str, world: &World) -> String {
    let is_time = |end: &str| end.ends_with(" ms") || end.ends_with(" s");
    let line = |line: &str| -> String {
        match line.trim_end().rsplit_once("  ") {
            Some((left, right)) if is_time(right) => {
                let what = right.rsplit_once(" · ").map_or("", |(what, _)| what);
                format!("{}  {what} TIME", left.trim_end())
            }
            _ if line.contains("pintle trace ") => "FIGURES".to_owned(),
            _ => line.trim_end().to_owned(),
        }
    };
    let settled = settled(rendered, &world.root());
    settled.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A model that does a bit of everything, and a profile whose hooks block.
fn everything(world: &World) -> String {
    let says = |name: &str, tools: &str, command: &str| json!({"action": "command", "name": name, "tools": [tools], "command": command});
    let traceback = "printf 'Traceback (most recent call last):\\n  File \"scan.py\", line 7, in <module>\\nZeroDivisionError: division by zero\\n' >&2; exit 1";
    let hooks = [
        says("no-lists", "list_dir", "echo 'lists are closed' >&2; exit 2"),
        says("scan", "write_file", traceback),
    ];
    let profile = json!({"name": "shop", "hooks": {"onToolCall": hooks}});
    world.write("shop/agent.json", profile.to_string());
    assert_eq!(world.run(&["trust", "shop", "--accept"]).code, Some(0));
    world.write("notes.txt", "one\ntwo\n");
    let lines = "seq -f 'line %g' 30";
    let calls = json!([
        command("t1", &format!("{lines}; exit 3")),
        call("t2", "read_file", json!({"path": "notes.txt"})),
        command("t3", lines),
        call("t4", "list_dir", json!({"path": "."})),
        call("t5", "write_file", json!({"path": "a.txt", "content": "x\n"})),
    ]);
    let answer = "# Result\n\nThe test is **right**: `total` never adds tax, and this sentence is longer than a line of the terminal has room for.\n\n- one\n- two\n\n| file | lines |\n|---|---|\n| `a.rs` | 3 |\n\n```sh\nls -l\n```\n";
    world.script(
        "everything.json",
        &json!([
            {"text": "I look.", "toolCalls": calls},
            {"toolCalls": [call("t6", "read_file", json!({"path": "notes.txt"}))]},
            {"error": {"code": "overloaded", "message": "the model is overloaded", "retryable": true}},
            {"text": answer, "usage": {"inputTokens": 31_000, "outputTokens": 1100, "cacheReadTokens": 24_000}},
        ]),
    )
}

#[test]
fn the_calls_of_a_message_are_a_tree_with_the_outcome_of_each() {
    let world = World::new();
    let model = everything(&world);
    for columns in [80, 50] {
        let steps = [
            wait("session"),
            wait_for_prompt(),
            keys("go\r"),
            wait("pintle trace"),
            wait_for_prompt(),
            keys("/output 1\r"),
            wait("line 1\r"),
            wait_for_prompt(),
            keys("/cost\r"),
            wait("31k in (24k cached), 1.1k out"),
            wait_for_prompt(),
            keys("/quit\r"),
        ];
        let chat = ["chat", "--profile", "shop", "--model", &model];
        let screen = play_at(&world, columns, &chat, &steps);
        assert_eq!(screen.code, 0, "{}", screen.text);
        let seen = without_times(&screen.rendered, &world);
        assert_snapshot!(format!("chat_{columns}"), seen);
        assert!(!world.file("a.txt").exists());
    }
}

#[test]
fn one_question_prints_the_answer_alone_and_names_the_hooks_that_blocked() {
    let world = World::new();
    let model = everything(&world);
    let ask = |more: &[&str]| {
        let mut chat = world.command(
            &[&["chat", "-q", "go", "--profile", "shop", "--model", &model], more].concat(),
        );
        world.said(chat.env("PINTLE_ALLOW_COMMAND_HOOKS", "1").output().unwrap())
    };
    let said = ask(&[]);
    assert_eq!(said.code, Some(0), "{said}");
    // Markdown stays as it is where a program reads it.
    assert!(said.out.starts_with("# Result\n\nThe test is **right**: `total`"), "{said}");
    for words in [
        "blocked by hook `no-lists` (agent.json:1, ",
        "): lists are closed",
        "hook `scan` crashed (agent.json:1, exit 1, ",
        "| ZeroDivisionError: division by zero",
    ] {
        assert!(said.err.replace('│', "|").contains(words), "{words}: {said}");
    }
    assert!(!said.err.contains("line 30"), "only what blocks: {said}");
    for json in [&["--fail-on-block"][..], &["--fail-on-block", "--json"]] {
        assert_eq!(ask(json).code, Some(5));
    }
    assert_eq!(world.run(&["chat", "-q", "list .", "--fail-on-block"]).code, Some(0));
}

#[test]
fn text_without_q_is_wrong_usage_with_a_hint() {
    let world = World::new();
    let said = world.run(&["chat", "list", "."]);
    assert_eq!(said.code, Some(2), "{said}");
    assert!(said.err.contains("did you mean `pintle chat -q 'list .'`?"), "{said}");
}

#[test]
fn a_message_may_have_several_lines() {
    let world = World::new();
    for newline in ["\u{1b}\r", "\n", "\\\r"] {
        let steps = [
            wait_for_prompt(),
            keys("first"),
            wait("first"),
            keys(newline),
            keys("second"),
            wait("second"),
            keys("\r"),
            wait("pintle trace"),
            wait_for_prompt(),
            keys(CTRL_D),
        ];
        let screen = play(&world, &["chat"], &steps);
        assert_eq!(screen.code, 0, "{}", screen.text);
        let exported = world.exported();
        assert_eq!(exported["messages"][0]["message"]["text"], "first\nsecond", "{newline:?}");
    }
}

#[test]
fn tab_completes_commands_and_files() {
    let world = World::new();
    world.write("notes.txt", "hooks you can rely on\n");
    let steps = [
        wait_for_prompt(),
        keys("/out\t"),
        wait("/output "),
        keys("9\r"),
        wait("no output `9`"),
        wait_for_prompt(),
        keys("/a\t"),
        wait("/approvals "),
        keys("\r"),
        wait("No questions are waiting"),
        wait_for_prompt(),
        keys("read @not\t"),
        wait("@notes.txt"),
        keys(CTRL_C),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

// As in every shell.
#[test]
fn an_interrupt_clears_the_line_and_its_notice_expires() {
    let world = World::new();
    let steps = [
        wait_for_prompt(),
        keys("half a li"),
        wait("half a li"),
        keys(CTRL_C),
        keys("list .\r"),
        wait("pintle trace"),
        wait_for_prompt(),
        keys(CTRL_C),
        wait("Press Ctrl-C again within 2 s to quit."),
        wait_for_prompt(),
        json!({"run": ["/bin/sleep", "2.2"]}),
        keys(CTRL_C),
        wait("Press Ctrl-C again within 2 s to quit."),
        wait_for_prompt(),
        keys(CTRL_C),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 130, "{}", screen.text);
    assert_eq!(world.exported()["messages"][0]["message"]["text"], "list .");
}

#[test]
fn a_stopped_command_keeps_the_output_it_had() {
    let world = World::new();
    let slow =
        command("t1", "echo tick $((2-1)); echo tick $((1+1)); while :; do sleep 0.05; done");
    let model = world.script("slow.json", &json!([{"toolCalls": [slow]}, {"text": "End."}]));
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait("tick 2"),
        keys(CTRL_C),
        wait("stopped"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(screen.rendered.contains("│ tick 1\n  │ tick 2"), "{}", screen.rendered);
    let exported = world.exported();
    let result = exported["messages"][2]["message"]["results"][0]["content"].as_str().unwrap();
    assert!(result.starts_with("tick 1\ntick 2\n[The run was stopped"), "{result}");
}

#[test]
fn a_conversation_is_new_unless_it_is_continued_or_resumed() {
    let world = World::new();
    world.write("a.txt", "x");
    let new = [
        wait("new · /resume"),
        wait_for_prompt(),
        keys("read a.txt\r"),
        wait("pintle trace"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    for _ in 0..2 {
        assert_eq!(play(&world, &["chat"], &new).code, 0);
    }
    let list = || world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(list().as_array().unwrap().len(), 2);
    let oldest = list()[1]["id"].as_str().unwrap().to_owned();
    let continued = [
        wait("resumed · 4 messages"),
        wait_for_prompt(),
        keys("read a.txt\r"),
        wait("pintle trace"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    assert_eq!(play(&world, &["chat", "--continue"], &continued).code, 0);
    let resumed = [
        wait_for_prompt(),
        keys("/resume\r"),
        wait("read a.txt"),
        wait_for_prompt(),
        keys(&format!("/resume {}\r", &oldest[28..])),
        wait("resumed · 4 messages"),
        wait_for_prompt(),
        keys("list .\r"),
        wait("pintle trace"),
        wait_for_prompt(),
        keys("/clear\r"),
        wait("a new conversation begins"),
        wait_for_prompt(),
        keys("list .\r"),
        wait("pintle trace"),
        wait_for_prompt(),
        keys("/trace\r"),
        wait("list"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &resumed);
    assert_eq!(screen.code, 0, "{}", screen.text);
    let counts: Vec<_> =
        list().as_array().unwrap().iter().map(|it| it["messageCount"].clone()).collect();
    assert_eq!(counts, [4, 8, 8], "{}", screen.text);
}

#[test]
fn every_question_on_the_command_line_is_a_new_conversation() {
    let world = World::new();
    for _ in 0..2 {
        assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    }
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    let counts: Vec<_> =
        sessions.as_array().unwrap().iter().map(|it| it["messageCount"].clone()).collect();
    assert_eq!(counts, [4, 4]);
}

#[test]
fn the_cost_of_a_run_is_shown_where_the_price_is_known() {
    let world = World::new();
    let usage = json!({"inputTokens": 9100, "outputTokens": 212, "costUsd": 0.048});
    let model = world.script("dear.json", &json!([{"text": "Hello.", "usage": usage}]));
    let steps = [
        wait_for_prompt(),
        keys("hello\r"),
        wait("9.1k in, 212 out · $0.048"),
        wait_for_prompt(),
        keys("/cost\r"),
        wait("9.1k in, 212 out · $0.048"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

#[test]
fn tab_completes_models_and_sessions() {
    let world = World::new();
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    let list = world.run(&["sessions"]).out;
    let id = list.lines().nth(1).unwrap().split(' ').next().unwrap();
    let steps = [
        wait_for_prompt(),
        keys("/model offl\t"),
        wait("/model offline"),
        keys("\r"),
        wait("from now on"),
        wait_for_prompt(),
        keys(&format!("/resume {}\t", &id[..2])),
        wait(&format!("/resume {id}")),
        keys("\r"),
        wait("resumed · 4 messages"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

// What waits in another terminal is listed here.
#[test]
fn approvals_lists_the_questions_that_are_open() {
    let world = World::strict();
    let mut asking = world.start(&["chat", "--wait-for-approval", "-q", "run touch made.txt"]);
    world.pending();
    let steps = [
        wait_for_prompt(),
        keys("/approvals\r"),
        wait("WAITING"),
        wait("$ touch made.txt"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    asking.kill().unwrap();
    asking.wait().unwrap();
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!world.file("made.txt").exists(), "{}", screen.text);
}

#[test]
fn the_model_can_be_changed_in_a_conversation() {
    let world = World::new();
    let model = world.script("script.json", &json!([{"text": "I am scripted."}]));
    let steps = [
        wait_for_prompt(),
        keys("/model nonsense/x/y\r"),
        wait("error"),
        wait_for_prompt(),
        keys(&format!("/model {model}\r")),
        wait("from now on"),
        wait_for_prompt(),
        keys("hello\r"),
        wait("I am scripted."),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

// R11.4: the same text wherever it is answered, and no secret in it.
#[test]
fn a_question_reads_the_same_elsewhere_and_hides_secrets() {
    let world = World::strict();
    let write =
        call("t1", "write_file", json!({"path": "prod.env", "content": "KEY=s3cr3t-value-1\n"}));
    let model = world.script("s.json", &json!([{"toolCalls": [write]}, {"text": "End."}]));
    let show = format!(
        "{} --data {} approvals show $({0} --data {1} approvals list | tail -n 1 | cut -d' ' -f1) > shown.txt",
        env!("CARGO_BIN_EXE_pintle"),
        world.data().display()
    );
    let steps = [
        wait("Write a new file, prod.env?"),
        wait_for_question(),
        json!({"run": ["/bin/sh", "-c", show]}),
        keys("n"),
        wait("End."),
    ];
    let screen = crate::terminal::play_with(
        &world,
        &["chat", "-q", "go", "--model", &model],
        &steps,
        &[("MY_API_KEY", "s3cr3t-value-1")],
    );
    assert!(
        !screen.text.contains("s3cr3t") && screen.text.contains("KEY=[secret]"),
        "{}",
        screen.text
    );
    let shown = std::fs::read_to_string(world.file("shown.txt")).unwrap();
    for line in
        ["? Write a new file, prod.env?  1 line, ", "  It writes in this folder", "KEY=[secret]"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}
