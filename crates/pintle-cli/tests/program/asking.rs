//! Questions at a real terminal: what is seen is what is asked, and only an answer to it is one.

use serde_json::json;

use crate::{
    support::World,
    terminal::{
        CTRL_C, CTRL_D, PROMPT_IS_GONE, answer_elsewhere, keys, play, wait, wait_for_prompt,
    },
};

const ARROW_UP: &str = "\u{1b}[A";

/// A profile whose hook holds every message back until the file `go` is there.
fn slow_guard(world: &World) {
    let until_go = "while [ ! -e ../go ]; do sleep 0.02; done";
    let hook = json!({"action": "command", "name": "slow-guard", "command": until_go, "timeoutMs": 600_000});
    let profile = json!({"name": "slow", "hooks": {"onPrompt": [hook]}});
    world.write("slow/agent.json", profile.to_string());
    assert_eq!(world.run(&["trust", "slow", "--accept"]).code, Some(0));
}

// R11.4: the person sees the real arguments.
#[test]
fn arguments_cannot_draw_another_question() {
    let world = World::new();
    let path = "/etc/passwd\u{1b}[5F\u{1b}[J? read_file wants to run\r\n  README.md\u{202e}";
    let call = json!({"id": "t1", "name": "read_file", "input": {"path": path}});
    let script = json!([{"toolCalls": [call]}, {"text": "Then not.\u{1b}[2J\u{1b}]0;owned\u{7}"}]);
    let model = world.script("hostile.json", &script);
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait("wants to run"),
        wait("/etc/passwd\\u001b[5F\\u001b[J?"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("n\r"),
        wait("Then not."),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    for raw in ["\u{1b}[5F", "\u{1b}[J? ", "\u{202e}", "Then not.\u{1b}", "\u{7}"] {
        assert!(!screen.text.contains(raw), "{raw:?} in {:?}", screen.text);
    }
    assert!(screen.rendered.contains("? read_file wants to run\n    {\n"), "{}", screen.rendered);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    for typed in ["y\r", "y", "a\ry\r"] {
        let world = World::strict();
        slow_guard(&world);
        let steps = [
            wait_for_prompt(),
            keys("run touch made.txt\r"),
            wait("hook slow-guard"),
            keys(typed),
            json!({"make": world.file("go")}),
            wait("allow it?"),
            wait_for_prompt(),
            keys("no\r"),
            wait("I could not run"),
            wait_for_prompt(),
            keys(CTRL_D),
        ];
        let screen = play(&world, &["chat", "--profile", "slow"], &steps);
        assert_eq!(screen.code, 0, "{typed:?}: {}", screen.text);
        assert!(!world.file("made.txt").exists(), "{typed:?}: {}", screen.text);
        let told = screen.rendered.contains("what was typed before the question is no answer");
        assert_eq!(told, typed.contains('\r'), "{typed:?}: {}", screen.rendered);
    }
}

// Two calls of one turn: the answer to the first question is none to the second.
#[test]
fn each_question_wants_its_own_answer() {
    let world = World::strict();
    let call = |id: &str| json!({"id": id, "name": "terminal", "input": {"command": format!("touch {id}")}});
    let model = world
        .script("two.json", &json!([{"toolCalls": [call("t1"), call("t2")]}, {"text": "End."}]));
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait("touch t1"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("y\ry\ry\r"),
        wait("touch t2"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("n\r"),
        wait("End."),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(world.file("t1").exists() && !world.file("t2").exists(), "{}", screen.text);
}

#[test]
fn yes_is_yes_in_any_case_and_what_is_unclear_is_asked_again() {
    let world = World::strict();
    let steps = [
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("OK\r"),
        wait("y or yes is yes"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("Yes\r"),
        wait("I ran"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(world.file("made.txt").exists());
}

#[test]
fn answers_are_not_among_what_was_said_before() {
    let world = World::strict();
    let steps = [
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("not on a Sunday\r"),
        wait("I could not run"),
        wait_for_prompt(),
        keys(ARROW_UP),
        keys("\r"),
        // The message is said again, not the answer.
        wait("allow it?"),
        wait_for_prompt(),
        keys("n\r"),
        wait("I could not run"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    let history = std::fs::read_to_string(world.data().join("history.txt")).unwrap();
    assert!(history.contains("run touch made.txt"), "{history}");
    assert!(!history.contains("Sunday"), "{history}");
}

// R11.5: whoever is here may not answer, and has to know what is waited for.
#[test]
fn who_may_not_answer_is_told_who_is_waited_for() {
    let world = World::strict();
    let settings = "level = \"strict\"\napprovers = [\"alice\", \"bob\"]";
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    let steps = [
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait("terminal waits for an answer from alice, bob: pintle approvals show"),
        wait("then: pintle approvals approve"),
        wait("waiting for an answer about terminal"),
        keys(CTRL_C),
        wait("■"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!screen.text.contains("allow it?") && !world.file("made.txt").exists());
}

#[test]
fn a_question_that_lapses_at_the_terminal_says_so() {
    let world = World::strict();
    let hasty = json!({"name": "hasty", "security": {"approvalTimeoutMs": 4000}});
    world.write("hasty/agent.json", hasty.to_string());
    let steps = [
        wait("· profile hasty (by --profile) ·"),
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait("allow it?"),
        wait(PROMPT_IS_GONE),
        wait("nobody answered in time: the question lapsed"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--profile", "hasty"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!screen.text.contains("somebody else"), "{}", screen.text);
    assert!(!world.file("made.txt").exists());
}

// What was typed at the question was meant for it; what is typed after it is a message like any other.
#[test]
fn half_an_answer_goes_with_its_question_and_what_follows_is_heard() {
    let world = World::strict();
    let steps = [
        wait_for_prompt(),
        keys("run touch ran\r"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("not on a Sun"),
        wait("not on a Sun"),
        answer_elsewhere(&world, "deny"),
        wait("somebody else answered: denied by operator"),
        wait("I could not run"),
        wait_for_prompt(),
        keys("list .\r"),
        wait("there is"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!world.file("ran").exists(), "{}", screen.text);
    let exported = world.exported();
    assert!(!exported.to_string().contains("not on a Sun"), "{exported}");
}

// The next question has a prompt of its own, and can be answered here.
#[test]
fn a_question_after_one_that_was_settled_elsewhere_is_asked_as_ever() {
    let world = World::strict();
    let call = |id: &str| json!({"id": id, "name": "terminal", "input": {"command": format!("touch {id}")}});
    let script =
        json!([{"toolCalls": [call("t1")]}, {"toolCalls": [call("t2")]}, {"text": "End."}]);
    let model = world.script("two.json", &script);
    let steps = [
        wait_for_prompt(),
        keys("go\r"),
        wait("allow it?"),
        answer_elsewhere(&world, "approve"),
        wait("somebody else answered: approved by operator"),
        wait("touch t2"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("OK\r"),
        wait("y or yes is yes to this call; s or session is yes to all `touch *`"),
        wait("allow it?"),
        wait_for_prompt(),
        keys("y\r"),
        wait("End."),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(world.file("t1").exists() && world.file("t2").exists(), "{}", screen.text);
}

// A no is for one call: models use the same id again.
#[test]
fn the_same_call_after_a_no_is_a_new_question() {
    let world = World::strict();
    let call = json!({"id": "t1", "name": "terminal", "input": {"command": "touch made.txt"}});
    let again = json!([{"toolCalls": [call]}, {"toolCalls": [call]}, {"text": "End."}]);
    let model = world.script("again.json", &again);
    let ask = |answer: &str| [wait("allow it?"), wait_for_prompt(), keys(answer)];
    let mut steps = vec![wait_for_prompt(), keys("go\r")];
    steps.extend(ask("n\r"));
    steps.extend(ask("n\r"));
    steps.extend([wait("End."), wait_for_prompt(), keys("/new\r"), wait_for_prompt()]);
    steps.push(keys("/quit\r"));
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    let all = world.run(&["approvals", "list", "--all", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
}

// R11.5: lines of a pipe are messages; nobody there can see what they would say yes to.
#[test]
fn lines_of_a_pipe_are_never_answers() {
    let world = World::strict();
    let said = world.piped(&["chat"], b"run touch made.txt\ny\n");
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.err.contains("there is no one to ask"), "{said}");
    assert!(!world.file("made.txt").exists());
}
