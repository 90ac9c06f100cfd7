//! `pintle chat` at a real terminal, driven by `terminal.py`.

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{World, assert_whole};

pub(crate) struct Screen {
    /// Everything that was sent to it.
    pub(crate) text: String,
    /// What a person saw in the end.
    pub(crate) rendered: String,
    pub(crate) code: Value,
    /// As a shell wants to find it.
    pub(crate) reads_lines: bool,
}

pub(crate) fn wait(text: &str) -> Value {
    json!({"wait": text})
}

pub(crate) fn wait_for_prompt() -> Value {
    wait("› ")
}

/// The prompt of a question is drawn when its keys are heard.
pub(crate) fn wait_for_question() -> Value {
    wait("\u{1b}[1m›\u{1b}[0m")
}

pub(crate) fn keys(keys: &str) -> Value {
    json!({"type": keys})
}

pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";

pub(crate) fn play(world: &World, arguments: &[&str], steps: &[Value]) -> Screen {
    play_at(world, 120, arguments, steps)
}

/// On a terminal with so many columns.
pub(crate) fn play_at(world: &World, columns: u16, arguments: &[&str], steps: &[Value]) -> Screen {
    play_in(world, columns, arguments, steps, &[])
}

/// With more in the environment.
pub(crate) fn play_with(
    world: &World,
    arguments: &[&str],
    steps: &[Value],
    more: &[(&'static str, &str)],
) -> Screen {
    play_in(world, 120, arguments, steps, more)
}

fn play_in(
    world: &World,
    columns: u16,
    arguments: &[&str],
    steps: &[Value],
    more: &[(&'static str, &str)],
) -> Screen {
    let mut argv = vec![env!("CARGO_BIN_EXE_pintle").to_string()];
    argv.extend(world.arguments(arguments));
    let mut env: BTreeMap<_, _> = world.environment().into_iter().collect();
    env.insert("TERM", "xterm".to_string());
    env.extend(more.iter().map(|(name, value)| (*name, value.to_string())));
    env.insert("PINTLE_ALLOW_COMMAND_HOOKS", "1".to_string());
    let scene = json!({"argv": argv, "env": env, "cwd": world.file(""), "steps": steps, "columns": columns});
    let mut driver = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/terminal.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 drives the terminal");
    driver.stdin.take().unwrap().write_all(scene.to_string().as_bytes()).unwrap();
    let output = driver.wait_with_output().unwrap();
    let seen: Value = serde_json::from_slice(&output.stdout).expect("the driver says what it saw");
    let text = seen["screen"].as_str().unwrap().to_string();
    assert!(seen["stuck"].is_null(), "stuck at {}:\n{text}", seen["stuck"]);
    assert!(!seen["code"].is_null(), "it did not end:\n{text}");
    let rendered = seen["rendered"].as_str().unwrap().to_string();
    let reads_lines = seen["reads_lines"] == true;
    Screen { text, rendered, code: seen["code"].clone(), reads_lines }
}

#[test]
fn a_person_reads_the_answer_and_leaves() {
    let world = World::new();
    world.write("notes.txt", "hooks you can rely on\n");
    let screen = play(
        &world,
        &["chat"],
        &[
            wait("offline"),
            wait_for_prompt(),
            keys("read notes.txt\r"),
            wait("read notes.txt"),
            wait("hooks you can rely on"),
            wait_for_prompt(),
            keys("/quit\r"),
        ],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(screen.text.contains('\u{1b}'), "a terminal has colours");
}

#[test]
fn a_person_is_asked_with_the_real_arguments_and_says_yes() {
    let world = World::strict();
    let screen = play(
        &world,
        &["chat"],
        &[
            wait_for_prompt(),
            keys("run touch made.txt && printf 'caf\\351'\r"),
            wait("Run this command?"),
            wait(" made.txt "),
            wait("printf"),
            wait_for_question(),
            keys("y"),
            wait("I ran"),
            wait("caf\u{fffd}"),
            wait_for_prompt(),
            keys(CTRL_D),
        ],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(world.file("made.txt").exists());
    assert_whole(&world.exported());
}

// R11.5: denied, with words for the model.
#[test]
fn a_person_says_no_and_the_model_is_told_why() {
    let world = World::strict();
    let screen = play(
        &world,
        &["chat"],
        &[
            wait_for_prompt(),
            keys("run touch made.txt\r"),
            wait_for_question(),
            keys("r"),
            wait("why not"),
            keys("not on a Sunday\r"),
            wait("I could not run"),
            wait("not on a Sunday"),
            wait_for_prompt(),
            keys("run touch made.txt\r"),
            wait_for_question(),
            // No other key answers.
            keys("\r"),
            wait("use one of these keys"),
            keys("n"),
            wait("I could not run"),
            wait_for_prompt(),
            keys("/quit\r"),
        ],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!world.file("made.txt").exists());
    let exported = world.exported();
    let told = &exported["messages"][2]["message"]["results"][0];
    assert_eq!(told["isError"], true);
    assert!(told["content"].as_str().unwrap().contains("not on a Sunday"), "{told}");
}

#[test]
fn one_question_at_a_terminal_can_be_asked_about_too() {
    let world = World::strict();
    let steps = [wait_for_question(), keys("y"), wait("It said nothing")];
    let screen = play(&world, &["chat", "-q", "run touch made.txt"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(world.file("made.txt").exists());
}

#[test]
fn a_hook_that_takes_its_time_is_named() {
    let world = World::new();
    let until_go = "while [ ! -e ../go ]; do sleep 0.02; done";
    let hook = json!({"action": "command", "name": "slow-guard", "command": until_go, "timeoutMs": 600_000});
    let profile = json!({"name": "slow", "hooks": {"onPrompt": [hook]}});
    world.write("slow/agent.json", profile.to_string());
    assert_eq!(world.run(&["trust", "slow", "--accept"]).code, Some(0));
    let steps = [
        wait_for_prompt(),
        keys("read notes.txt\r"),
        wait("hook slow-guard (user.prompt.submit)"),
        json!({"make": world.file("go")}),
        wait("I could not read"),
        wait_for_prompt(),
        keys(CTRL_D),
    ];
    let screen = play(&world, &["chat", "--profile", "slow"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

// R8.2
#[test]
fn a_message_of_a_gate_for_the_person_is_shown() {
    let world = World::new();
    let answers = r#"echo '{"decision": "approve", "systemMessage": "the disk is nearly full"}'"#;
    let hook = json!({"action": "command", "name": "gate", "command": answers});
    world.write("gated/agent.json", json!({"hooks": {"onToolCall": [hook]}}).to_string());
    assert_eq!(world.run(&["trust", "gated", "--accept"]).code, Some(0));
    let steps = [
        wait_for_prompt(),
        keys("list .\r"),
        wait("gate at tool.pre: the disk is nearly full"),
        wait_for_prompt(),
        keys(CTRL_D),
    ];
    let screen = play(&world, &["chat", "--profile", "gated"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

#[test]
fn a_hook_is_named_after_words_too() {
    let world = World::new();
    let until_go = "while [ ! -e ../go ]; do sleep 0.02; done";
    let hook = json!({"action": "command", "name": "slow-guard", "command": until_go, "timeoutMs": 600_000});
    let profile = json!({"name": "slow", "hooks": {"onToolCall": [hook]}});
    world.write("slow/agent.json", profile.to_string());
    assert_eq!(world.run(&["trust", "slow", "--accept"]).code, Some(0));
    let call = json!({"id": "t1", "name": "list_dir", "input": {"path": "."}});
    let script = json!([{"text": "Let me look.", "toolCalls": [call]}, {"text": "Seen."}]);
    let model = world.script("words-first.json", &script);
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait("Let me look."),
        wait("hook slow-guard (tool.pre)"),
        json!({"make": world.file("go")}),
        wait("Seen."),
        wait_for_prompt(),
        keys(CTRL_D),
    ];
    let screen = play(&world, &["chat", "--profile", "slow", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
}

#[test]
fn two_interrupts_at_the_prompt_leave() {
    let world = World::new();
    let steps = [
        wait_for_prompt(),
        keys(CTRL_C),
        wait("again within 2 s"),
        wait_for_prompt(),
        // Saying something takes the first one back.
        keys("list .\r"),
        wait("there is"),
        wait_for_prompt(),
        keys(CTRL_C),
        wait("again within 2 s"),
        wait_for_prompt(),
        keys(CTRL_C),
    ];
    assert_eq!(play(&world, &["chat"], &steps).code, 130);
}

// R6.5
#[test]
fn an_interrupt_stops_the_run_and_not_the_conversation() {
    let world = World::new();
    let slow = json!([{"delayMs": 600_000, "text": "Late."}]);
    let model = world.script("slow.json", &slow);
    let steps = [
        wait_for_prompt(),
        keys("hello\r"),
        wait("thinking"),
        keys(CTRL_C),
        wait("stopping"),
        wait("■"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
}

#[test]
fn an_interrupt_at_the_question_stops_the_run() {
    let world = World::strict();
    let steps = [
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait_for_question(),
        keys(CTRL_C),
        wait("■"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!world.file("made.txt").exists());
    assert_whole(&world.exported());
}

// What stopped the run, or the question, is not the first of the two: as in a shell.
#[test]
fn an_interrupt_that_stopped_a_run_is_not_the_first_of_two() {
    let world = World::strict();
    let model = world.script("slow.json", &json!([{"delayMs": 600_000, "text": "Late."}]));
    let running = [wait_for_prompt(), keys("hello\r"), wait("thinking"), keys(CTRL_C)];
    let asked =
        [wait_for_prompt(), keys("run touch made.txt\r"), wait_for_question(), keys(CTRL_C)];
    let then = [
        wait_for_prompt(),
        keys(CTRL_C),
        wait("again within 2 s"),
        wait_for_prompt(),
        keys(CTRL_C),
    ];
    for (more, steps) in [(vec!["--model", &model], running), (vec![], asked)] {
        let then = [wait("■")].into_iter().chain(then.clone());
        let steps: Vec<Value> = steps.into_iter().chain(then).collect();
        let screen = play(&world, &[vec!["chat"], more].concat(), &steps);
        assert_eq!(screen.code, 130, "{}", screen.text);
    }
}

#[test]
fn what_was_typed_is_remembered_for_the_next_time() {
    let world = World::new();
    let first =
        [wait_for_prompt(), keys("list .\r"), wait("there is"), wait_for_prompt(), keys("/quit\r")];
    play(&world, &["chat"], &first);
    let arrow_up = "\u{1b}[A";
    let second = [
        wait_for_prompt(),
        keys(arrow_up),
        keys(arrow_up),
        wait("list ."),
        keys("\r"),
        wait("there is"),
        wait_for_prompt(),
        keys(CTRL_D),
    ];
    assert_eq!(play(&world, &["chat"], &second).code, 0);
}

/// The newest question, whatever its id: answered by a shell.
pub(crate) fn answer_elsewhere(world: &World, answer: &str) -> Value {
    let pintle = format!("{} --data {}", env!("CARGO_BIN_EXE_pintle"), world.data().display());
    let id = format!("{pintle} approvals list | tail -n 1 | cut -d' ' -f1");
    json!({"run": ["/bin/sh", "-c", format!("{pintle} approvals {answer} $({id})")]})
}

// R11.4
#[test]
fn an_answer_from_another_terminal_is_told_at_the_question() {
    let world = World::strict();
    let screen = play(
        &world,
        &["chat"],
        &[
            wait_for_prompt(),
            keys("run touch ran\r"),
            wait_for_question(),
            answer_elsewhere(&world, "approve"),
            wait("approved elsewhere, by operator"),
            wait("I ran"),
            wait_for_prompt(),
            keys("list .\r"),
            wait("there is"),
            wait_for_prompt(),
            keys("/quit\r"),
        ],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(screen.reads_lines && world.file("ran").exists(), "{}", screen.text);
    // Its prompt is gone with the question, and nothing draws it again.
    let after = screen.rendered.split_once("approved elsewhere").unwrap().1;
    assert!(!after.contains("details"), "{after}");
}

// R11.4: the second answer changes nothing, and whoever gave it is told.
#[test]
fn of_two_terminals_the_second_is_told_that_it_was_late() {
    let world = World::strict();
    let screen = play(
        &world,
        &["chat"],
        &[
            wait_for_prompt(),
            keys("run touch ran\r"),
            wait_for_question(),
            keys("n"),
            wait("denied by you"),
            wait_for_prompt(),
            answer_elsewhere(&world, "approve"),
            keys("/quit\r"),
        ],
    );
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!world.file("ran").exists(), "{}", screen.text);
    let all = world.run(&["approvals", "list", "--all", "--json"]).json();
    let id = all[0]["id"].as_str().unwrap();
    let late = world.run(&["approvals", "approve", id]);
    assert_eq!(late.code, Some(1));
    assert!(
        late.err
            .contains(" was already denied by operator (just now); your answer changed nothing"),
        "{late}"
    );
}

#[test]
fn a_question_at_the_terminal_shows_what_a_terminal_would_hide() {
    let world = World::new();
    let input = json!({"path": "/etc/x", "content": "a\u{9b}2Kb\u{202e}c"});
    let call = json!([{"toolCalls": [{"id": "t1", "name": "write_file", "input": input}]}, {"text": "\u{1b}]0;owned\u{7}done"}]);
    let model = world.script("hide.json", &call);
    let screen = play(
        &world,
        &["chat", "--model", &model],
        &[
            wait_for_prompt(),
            keys("go\r"),
            wait_for_question(),
            keys("n"),
            wait("done"),
            wait_for_prompt(),
            keys("/quit\r"),
        ],
    );
    assert!(screen.text.contains("a\\u{9b}2Kb\\u{202e}c"), "{}", screen.text);
    assert!(screen.text.contains("\\u{1b}]0;owned\\u{7}done"), "{}", screen.text);
    assert!(!screen.text.contains("\u{1b}]0;owned"), "{}", screen.text);
}
