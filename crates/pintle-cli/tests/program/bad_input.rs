//! Bad input: a clear message, the way out, and nothing lost.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{World, holds};

#[test]
fn a_model_that_is_not_there_is_met_with_what_is() {
    let world = World::new();
    assert_snapshot!(world.transcript(&[
        &["chat", "-q", "hello", "--model", "offlin"],
        &["chat", "-q", "hello", "--model", "antropic/claude-sonnet-4-5"],
        &["chat", "-q", "hello", "--model", ""],
        &["doctor", "--model", "anthropic/"],
    ]));
}

#[test]
fn a_missing_key_is_named() {
    let world = World::new();
    assert_snapshot!(world.transcript(&[
        &["chat", "-q", "hello", "--model", "anthropic/claude-sonnet-4-5"],
        &["chat", "-q", "hello", "--model", "openai/gpt-5"],
        &["chat", "-q", "hello", "--model", "gemini/gemini-2.5-pro"],
    ]));
}

#[test]
fn a_personality_that_is_not_there_is_met_with_the_nearest() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    assert_snapshot!(world.transcript(&[
        &["chat", "-q", "hello", "--profile", "my-agent", "--personality", "gide"],
        &["chat", "-q", "hello", "--personality", "zorro"],
        &["doctor", "--show-prompt", "--personality", "defualt"],
    ]));
}

#[test]
fn a_script_that_makes_no_sense_says_where() {
    let world = World::new();
    world.write("binary.json", b"\xff\xfe");
    world.write("half.json", "[{\"text\": ");
    world.write("object.json", "{}");
    world.write("typo.json", r#"[{"text": "fine"}, {"txet": "Hello!"}]"#);
    let asked = |file: &str| world.transcript(&[&["chat", "-q", "hello", "--model", file]]);
    let files = ["", "nowhere.json", ".", "binary.json", "half.json", "object.json", "typo.json"];
    let transcripts: Vec<_> = files.iter().map(|file| asked(&format!("scripted:{file}"))).collect();
    assert_snapshot!(transcripts.concat());
}

#[test]
fn a_question_without_words_is_not_asked() {
    let world = World::new();
    for question in ["", "  \n"] {
        let said = world.run(&["chat", "-q", question]);
        assert_eq!(said.code, Some(2), "{said}");
        assert!(said.err.contains("the question is empty"), "{said}");
    }
    assert_eq!(world.run(&["sessions", "list", "--json"]).out.trim(), "[]");
}

#[test]
fn a_damaged_database_is_left_as_it_is() {
    let world = World::new();
    let database = world.data().join("pintle.db");
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    let whole = std::fs::read(&database).unwrap();
    let overwritten = [vec![0x5a; 4096], whole[4096..].to_vec()].concat();
    for damaged in [b"this is no database, but somebody's letter\n".repeat(200), overwritten] {
        std::fs::write(&database, &damaged).unwrap();
        for arguments in [
            &["chat", "-q", "hello"][..],
            &["sessions", "list"],
            &["sessions", "delete", "cli:default"],
            &["trace"],
            &["doctor"],
        ] {
            let said = world.run(arguments);
            assert_eq!(said.code, Some(1), "{arguments:?} {said}");
            let told = format!("{}{}", said.out, said.err);
            assert!(told.contains("is damaged"), "{arguments:?} {said}");
            assert!(told.contains("left as it is"), "{arguments:?} {said}");
            assert!(holds(&database, &damaged), "{arguments:?}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(world.data()).unwrap().collect();
    assert!(
        left.iter().all(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            ["pintle.db", "history.txt", "locks"].contains(&name.to_str().unwrap())
        }),
        "{left:?}"
    );
    assert_snapshot!(world.transcript(&[&["sessions", "list"]]));
}

#[test]
fn a_data_folder_that_cannot_be_one_is_named() {
    let world = World::new();
    world.write("a-file", "mine");
    std::fs::create_dir_all(world.file("odd/pintle.db")).unwrap();
    assert_snapshot!(world.transcript(&[
        &["chat", "-q", "hello", "--data", "a-file"],
        &["sessions", "list", "--data", "a-file/inside"],
        &["trace", "--data", "odd"],
    ]));
    assert!(holds(&world.file("a-file"), b"mine"));
}

#[test]
fn a_profile_that_is_not_one_is_not_used() {
    let world = World::new();
    world.write("a-file", "");
    world.write(
        "typo/agent.json",
        r#"{"name": "x", "securty": {}, "limits": {"maxTurns": "many"}}"#,
    );
    world.write("binary/agent.json", b"{\"name\": \"\xff\"}");
    assert_snapshot!(world.transcript(&[
        &["chat", "-q", "hello", "--profile", "nowhere"],
        &["hooks", "lint", "a-file"],
        &["hooks", "lint", "typo"],
        &["doctor", "--profile", "binary"],
    ]));
}

#[test]
fn bytes_of_a_file_that_are_no_text_are_replaced_and_said_to_be() {
    let world = World::new();
    world.write("latin1.txt", b"caf\xe9\n");
    world.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    assert_snapshot!(world.transcript(&[
        &["chat", "-q", "read latin1.txt", "--session", "bytes"],
        &["chat", "-q", "read picture.png", "--session", "bytes"],
        &["sessions", "show", "bytes"],
    ]));
}

#[test]
fn a_tool_that_is_not_there_and_arguments_that_make_no_sense_are_told_to_the_model() {
    let world = World::new();
    let script = json!([
        {"toolCalls": [{"id": "t1", "name": "raed_file", "input": {}}]},
        {"toolCalls": [{"id": "t2", "name": "read_file", "inputRaw": "{\"path\": "}]},
        {"text": "I give up."},
    ]);
    let model = world.script("script.json", &script);
    assert_eq!(
        world.run(&["chat", "-q", "read", "--model", &model, "--session", "lost"]).out,
        "I give up.\n"
    );
    assert_snapshot!(world.transcript(&[&["sessions", "show", "lost"]]));
}

// §16: wrong usage exits 2.
#[test]
fn wrong_usage_is_told_apart_from_failure() {
    let world = World::new();
    let wrong: [&[&str]; 5] = [
        &["nope"],
        &["chat", "--nope"],
        &["chat", "-q"],
        &["sessions", "show"],
        &["trace", "one", "two"],
    ];
    for arguments in wrong {
        let said = world.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{arguments:?} {said}");
        assert!(said.err.contains("--help"), "{said}");
    }
    assert!(!world.data().exists());
}

#[test]
fn a_name_that_is_nearly_right_is_met_with_the_nearest() {
    let world = World::new();
    world.write("payload.json", "{}");
    world.run(&["chat", "--session", "weekly", "-q", "list ."]);
    assert_snapshot!(world.transcript(&[
        &["hooks", "schema", "tol.pre"],
        &["hooks", "schema", "PreToolUse"],
        &["hooks", "fire", "tol.pre", "--payload", "payload.json"],
        &["hooks", "fire", "tol.pre", "--payload", "not-there.json"],
        &["hooks", "explain", "--tool", "terminall", "--args", "{}"],
        &["sessions", "show", "wekly"],
        &["sessions", "export", "quite different"],
    ]));
}

// A model that is not asked need not be right.
#[test]
fn a_profile_whose_model_nobody_has_loads_where_another_is_chosen() {
    let world = World::new();
    world.write("agent/agent.json", "{\n  \"name\": \"agent\",\n  \"model\": \"anthropc/x\"\n}\n");
    assert_snapshot!(world.transcript(&[
        &["chat", "--profile", "agent", "-q", "list ."],
        &["chat", "--profile", "agent", "--model", "offline", "-q", "list agent"],
        &["hooks", "lint", "agent"],
    ]));
    let listed = world.run(&["hooks", "list", "--profile", "agent", "--model", "offline"]);
    assert_eq!(listed.code, Some(0), "{listed}");
}

// R10.4: the operator's file, the profile and a personality's folder, each with slips of its own language.
#[test]
fn slips_in_three_files_are_all_shown_at_once() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    let settings = "level = strict\nallow_comand_hooks = true\n";
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    world.write(
        "agent/agent.json",
        "{\n  # who\n  \"nmae\": “a”\n  \"hooks\": { \"onStart\": [{ \"action\" \"lgo\" }] }\n}\n",
    );
    world.write("agent/personalities/a/SOUL.md", "You are a.\n");
    world.write("agent/personalities/a/config.json", "{ 'tols': [\"*\"], }\n");
    assert_snapshot!(world.transcript(&[&["hooks", "lint", "agent"]]));
}
