//! Questions at a real terminal: what is seen is what is asked, and only an answer to it is one.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    chat::without_times,
    support::World,
    terminal::{
        CTRL_C, CTRL_D, answer_elsewhere, keys, play, play_at, wait, wait_for_prompt,
        wait_for_question,
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
        wait("Read "),
        wait("/etc/passwd\\u{1b}[5F\\u{1b}[J?"),
        wait_for_question(),
        keys("n"),
        wait("Then not."),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--model", &model], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    for raw in ["\u{1b}[5F", "\u{1b}[J? ", "\u{202e}", "Then not.\u{1b}", "\u{7}"] {
        assert!(!screen.text.contains(raw), "{raw:?} in {:?}", screen.text);
    }
    assert_eq!(screen.rendered.matches("\n? ").count(), 1, "{}", screen.rendered);
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
            wait_for_question(),
            keys("n"),
            wait("I could not run"),
            wait_for_prompt(),
            keys(CTRL_D),
        ];
        let screen = play(&world, &["chat", "--profile", "slow"], &steps);
        assert_eq!(screen.code, 0, "{typed:?}: {}", screen.text);
        assert!(!world.file("made.txt").exists(), "{typed:?}: {}", screen.text);
    }
}

// P2: Enter, arrows, pastes, other letters: none of them is a yes.
#[test]
fn no_other_key_approves() {
    let world = World::strict();
    let strokes = [
        "\r",
        " ",
        "Y",
        "1",
        "\u{1b}",
        ARROW_UP,
        "\u{1b}OA",
        "\u{1b}[200~y\u{1b}[201~",
        "yes\r",
        "yy",
        "ya",
        CTRL_D,
        "é",
        "ok y",
    ];
    for stroke in strokes {
        let steps = [
            wait_for_question(),
            keys(stroke),
            wait("use one of these keys: y a A n r d"),
            keys("n"),
            wait("I could not run"),
        ];
        let screen = play(&world, &["chat", "-q", "run touch made.txt"], &steps);
        assert_eq!(screen.code, 0, "{stroke:?}: {}", screen.text);
        assert!(!world.file("made.txt").exists(), "{stroke:?}: {}", screen.text);
    }
    assert_eq!(world.run(&["approvals", "rules", "--json"]).json(), json!([]));
}

/// A model that makes three calls at once, and a profile that asks about each.
fn three_calls(world: &World) -> String {
    let asking = json!({"name": "asks", "hooks": {"onToolCall": [{"action": "approve", "name": "ask", "tools": ["terminal"]}]}});
    world.write("asks/agent.json", asking.to_string());
    let call = |id: &str, command: &str| json!({"id": id, "name": "terminal", "input": {"command": command}});
    let calls = [call("t1", "touch one"), call("t2", "touch two"), call("t3", "sudo touch three")];
    world.script("three.json", &json!([{"toolCalls": calls}, {"text": "End."}]))
}

// The calls of one message are answered together, but for what may change the machine.
#[test]
fn several_calls_are_answered_together_and_the_machine_is_asked_about_alone() {
    let world = World::new();
    let model = three_calls(&world);
    let steps = [
        wait("3 calls need your approval"),
        wait("yes to 1 and 2 (3 is asked alone)"),
        wait_for_question(),
        keys("y"),
        wait("Run this command?"),
        wait(" touch three"),
        wait_for_question(),
        keys("n"),
        wait("End."),
    ];
    for columns in [80, 50] {
        let chat = ["chat", "-q", "go", "--profile", "asks", "--model", &model];
        let screen = play_at(&world, columns, &chat, &steps);
        assert_eq!(screen.code, 0, "{}", screen.text);
        assert!(world.file("one").exists() && world.file("two").exists(), "{}", screen.text);
        let seen = without_times(&screen.rendered, &world);
        assert_snapshot!(format!("several_calls_{columns}"), seen);
        std::fs::remove_file(world.file("one")).unwrap();
        std::fs::remove_file(world.file("two")).unwrap();
    }
}

#[test]
fn a_no_to_several_calls_runs_none_and_one_of_them_can_be_looked_at() {
    let world = World::new();
    let model = three_calls(&world);
    let all =
        [wait("3 calls need your approval"), wait_for_question(), keys("n"), wait("denied by you")];
    let screen = play(&world, &["chat", "-q", "go", "--profile", "asks", "--model", &model], &all);
    assert!(!world.file("one").exists() && !world.file("two").exists(), "{}", screen.text);
    let one = [
        wait("3 calls need your approval"),
        wait_for_question(),
        keys("2"),
        wait(" two"),
        wait_for_question(),
        keys("y"),
        wait("2 calls need your approval"),
        wait_for_question(),
        keys("n"),
        wait("End."),
    ];
    let screen = play(&world, &["chat", "-q", "go", "--profile", "asks", "--model", &model], &one);
    assert!(!world.file("one").exists() && world.file("two").exists(), "{}", screen.text);
}

// R11.4: an edit is a diff, a script is its lines, and a secret is hidden.
#[test]
fn a_person_sees_a_diff_and_a_script_as_lines() {
    let world = World::strict();
    world.write("src/cart.rs", "fn total(&self) -> u64 {\n    self.items.iter().sum()\n}\n");
    let edit = json!({"path": "src/cart.rs", "old": "    self.items.iter().sum()\n",
        "new": "    let net: u64 = self.items.iter().sum();\n    net + net * 19 / 100\n"});
    let script = json!({"command": "python3 - <<'EOF'\nimport os\nos.rename(\"A.txt\", \"a.txt\")\nEOF", "timeoutMs": 5000});
    let write = json!({"path": "deploy/prod.env", "content": "REGION=eu-1\n".repeat(30)});
    let turn = |id: &str, tool: &str, input: &Value| json!({"toolCalls": [{"id": id, "name": tool, "input": input}]});
    let model = world.script(
        "shown.json",
        &json!([turn("t1", "edit_file", &edit), turn("t2", "terminal", &script), turn("t3", "write_file", &write), {"text": "End."}]),
    );
    for columns in [80, 50] {
        let steps = [
            wait("Edit src/cart.rs?"),
            wait_for_question(),
            keys("n"),
            wait("Run this script?"),
            wait_for_question(),
            keys("n"),
            wait("Write a new file, deploy/prod.env?"),
            // It is cut, and there is no yes to what was not seen.
            wait_for_question(),
            keys("y"),
            wait("use one of these keys: d n r"),
            keys("d"),
            wait("hash"),
            wait_for_question(),
            keys("n"),
        ];
        let screen = play_at(&world, columns, &["chat", "-q", "go", "--model", &model], &steps);
        assert!(!world.file("deploy/prod.env").exists(), "{}", screen.text);
        // Removed lines are red and added ones green; of a command, the program is bold, an operator cyan, text green.
        for coloured in [
            "\u{1b}[31m    self.items.iter().sum()\u{1b}[0m",
            "\u{1b}[32m    net + net * 19 / 100\u{1b}[0m",
            "\u{1b}[1mpython3\u{1b}[0m - \u{1b}[36m<<\u{1b}[0m",
            "\u{1b}[32mimport os\u{1b}[0m",
        ] {
            assert!(screen.text.contains(coloured), "{coloured:?}: {:?}", screen.text);
        }
        assert_snapshot!(format!("questions_{columns}"), without_times(&screen.rendered, &world));
    }
}

#[test]
fn answers_are_not_among_what_was_said_before() {
    let world = World::strict();
    let steps = [
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait_for_question(),
        keys("r"),
        wait("why not"),
        keys("not on a Sunday\r"),
        wait("I could not run"),
        wait_for_prompt(),
        keys(ARROW_UP),
        keys("\r"),
        // The message is said again, not the answer.
        wait_for_question(),
        keys("n"),
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
    let program = env!("CARGO_BIN_EXE_pintle");
    let list = format!("{program} --data {} approvals > listed", world.data().display());
    let steps = [
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait("$ touch made.txt · waits for an answer from alice, bob"),
        json!({"run": ["/bin/sh", "-c", list]}),
        wait("· approve "),
        wait("waiting for an answer"),
        keys(CTRL_C),
        wait("■"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!screen.text.contains("this once") && !world.file("made.txt").exists());
    // The same short id as in the list.
    let listed = std::fs::read_to_string(world.file("listed")).unwrap();
    let id = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    let how = format!("pintle approvals show {id} · approve {id} · deny {id}");
    assert!(screen.rendered.contains(&how), "{how}: {}", screen.rendered);
}

#[test]
fn a_question_that_lapses_at_the_terminal_says_so() {
    let world = World::strict();
    let hasty = json!({"name": "hasty", "security": {"approvalTimeoutMs": 4000}});
    world.write("hasty/agent.json", hasty.to_string());
    let steps = [
        wait("hasty · agent.json, by --profile"),
        wait_for_prompt(),
        keys("run touch made.txt\r"),
        wait_for_question(),
        wait("no answer came in time: the question expired"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let screen = play(&world, &["chat", "--profile", "hasty"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!screen.text.contains("elsewhere"), "{}", screen.text);
    assert!(!world.file("made.txt").exists());
}

// What was typed at the question was meant for it; what is typed after it is a message like any other.
#[test]
fn half_an_answer_goes_with_its_question_and_what_follows_is_heard() {
    let world = World::strict();
    let steps = [
        wait_for_prompt(),
        keys("run touch ran\r"),
        wait_for_question(),
        keys("r"),
        wait("why not"),
        keys("not on a Sun"),
        wait("not on a Sun"),
        answer_elsewhere(&world, "deny"),
        wait("denied elsewhere, by operator"),
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
        wait_for_question(),
        answer_elsewhere(&world, "approve"),
        wait("approved elsewhere, by operator"),
        wait(" t2"),
        wait_for_question(),
        keys("y"),
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
    let ask = |answer: &str| [wait_for_question(), keys(answer)];
    let mut steps = vec![wait_for_prompt(), keys("go\r")];
    steps.extend(ask("n"));
    steps.extend(ask("n"));
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
