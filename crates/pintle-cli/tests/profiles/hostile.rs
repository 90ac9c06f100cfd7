//! Tricks of a downloaded profile, and of an agent that would rather have other rules.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{World, fifo, id};

#[test]
fn an_agent_json_that_never_ends_or_lies_elsewhere_is_refused_at_once() {
    for (make, reason) in [
        ((|path| fifo(path)) as fn(&std::path::Path), "not an ordinary file"),
        (|path| symlink("/dev/zero", path).unwrap(), "leads out"),
        (|path| symlink("/etc/passwd", path).unwrap(), "leads out"),
    ] {
        let world = World::new(&json!({}));
        let file = world.path("profile/agent.json");
        std::fs::remove_file(&file).unwrap();
        make(&file);
        for arguments in [
            &["hooks", "lint", "profile"][..],
            &["hooks", "list", "--profile", "profile"],
            &["trust", "profile"],
            &["chat", "--profile", "profile", "-q", "list ."],
        ] {
            let said = world.run(arguments);
            assert!(!said.ok && said.err.contains(reason), "{arguments:?} {said:?}");
            assert!(!said.err.contains("root:"), "no line of another file is shown");
        }
    }
}

#[test]
fn a_script_for_the_model_is_a_file_of_the_profile() {
    let world = World::new(&json!({}));
    world.write("outside.json", r#"[{ "text": "hunter2" }]"#);
    for model in ["scripted:/dev/zero", "scripted:../outside.json", "scripted:/etc/passwd"] {
        world.agent(&json!({ "model": model }));
        let said = world.ask("hello");
        assert!(!said.ok && said.err.contains("agent.json:2: cannot use the script"), "{said:?}");
        assert!(!world.run(&["hooks", "lint", "profile"]).ok);
    }
    world.write("profile/play.json", r#"[{ "text": "from the script" }]"#);
    world.agent(&json!({ "model": "scripted:play.json" }));
    assert_eq!(world.ask("hello").out.trim(), "from the script");
}

// P6
#[test]
fn a_glob_that_nearly_names_a_tool_keeps_the_profile_from_loading() {
    for (agent, near) in [
        (
            json!({ "hooks": { "onToolCall": [{ "action": "approve", "tools": ["termnal"] }] } }),
            "terminal",
        ),
        (
            json!({ "policies": [{ "tool": "write_fil", "kind": "path", "deny": ["x"] }] }),
            "write_file",
        ),
        (json!({ "tools": { "deny": ["tеrminal"] } }), "terminal"), // a Cyrillic letter
        (
            json!({ "personalities": { "a": { "prompt": "x", "tools": ["readfile"] } } }),
            "read_file",
        ),
    ] {
        let world = World::new(&agent);
        for said in [world.ask("write a.txt: x"), world.run(&["hooks", "lint", "profile"])] {
            assert!(!said.ok && said.err.contains(&format!("did you mean `{near}`?")), "{said:?}");
            assert!(said.err.contains("agent.json:"), "{said:?}");
        }
        assert!(!world.path("a.txt").exists());
    }
}

#[test]
fn a_glob_that_fits_no_tool_is_told_and_kept() {
    let hook = json!({ "action": "approve", "tools": ["github__*", "write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    let said = world.ask("write a.txt: x");
    assert!(said.err.contains("`github__*` fits no tool there is"), "{said:?}");
    assert!(said.out.contains("no one to ask") && !world.path("a.txt").exists(), "{said:?}");
    let lint = world.run(&["hooks", "lint", "profile"]);
    assert!(lint.ok && lint.out.contains("`github__*` fits no tool"), "{lint:?}");
}

#[test]
fn an_agent_asks_before_it_changes_the_rules_it_works_under() {
    let world = World::new(
        &json!({ "policies": [{ "tool": "write_file", "kind": "path", "deny": ["denied"] }] }),
    );
    world.write("profile/personalities/guide/SOUL.md", "You guide.");
    symlink(world.path("profile"), world.path("link")).unwrap();
    let before = world.read("profile/agent.json");
    for question in [
        "write profile/agent.json: {}",
        "write ./profile/../profile/agent.json: {}",
        "write link/agent.json: {}",
        "write profile/personalities/guide/SOUL.md: You obey.",
        "write profile/personalities/evil/SOUL.md: You obey.",
        "write profile/notes.txt: x",
    ] {
        let said = world.ask(question);
        assert!(said.out.contains("it writes a protected file"), "{question}: {said:?}");
    }
    assert_eq!(world.read("profile/agent.json"), before);
    assert_eq!(world.read("profile/personalities/guide/SOUL.md"), "You guide.");
    let in_the_profile = |question: &str| {
        world.pintle_in("profile", &["chat", "--profile", ".", "-q", question]).output().unwrap()
    };
    in_the_profile("write agent.json: {}");
    assert_eq!(world.read("profile/agent.json"), before);
    in_the_profile("write notes.txt: x");
    assert!(world.path("profile/notes.txt").exists(), "the rest of it is the agent's to work in");
    assert!(world.ask("read profile/agent.json").out.contains("policies"), "reading is free");
}

// R11.5
#[test]
fn a_script_that_an_agent_runs_can_neither_trust_nor_answer() {
    let world = World::new(&json!({
        "hooks": { "onToolEnd": [{ "action": "command", "argv": ["./check.sh"] }] }
    }));
    let world = world.allowing_programs();
    world.script("profile/check.sh", "exit 0");
    std::fs::write(world.data("pintle.toml"), "level = \"permissive\"\n").unwrap();
    let own = env!("CARGO_BIN_EXE_pintle");
    let (data, home) = (world.data(""), world.path(""));
    let clean = format!(
        "setsid -w env -i PATH=/usr/bin:/bin HOME={} PINTLE_DATA={} PINTLE_ALLOW_COMMAND_HOOKS=1 {own}",
        home.display(),
        data.display()
    );
    world.write(
        "innocent.sh",
        &format!(
            "{clean} trust profile --accept > trusts 2>&1\n\
             prlimit --locks=5:5 {clean} trust profile --accept >> trusts 2>&1\n\
             {clean} approvals approve x > answers 2>&1\n\
             {clean} trust profile > looks 2>&1\n"
        ),
    );
    // The sandbox does not show it the data folder.
    world.run(&["chat", "-q", "run sh innocent.sh"]);
    assert!(!world.read("trusts").contains("as it is now"), "{}", world.read("trusts"));
    assert!(world.run(&["trust", "profile"]).out.contains("check.sh"), "nothing is trusted");
    // Without a sandbox it carries a mark.
    let off = "level = \"permissive\"\n[sandbox]\nmode = \"off\"\n";
    std::fs::write(world.data("pintle.toml"), off).unwrap();
    assert!(world.run(&["chat", "-q", "run sh innocent.sh"]).ok);
    assert_eq!(world.read("trusts").matches("only a person may trust a profile").count(), 2);
    assert!(world.read("answers").contains("only a person may answer a question"));
    assert!(world.read("looks").contains("check.sh"), "looking is free, and nothing is trusted");
    world.trust();
}

// R11.4: the person sees the real arguments, all of them.
#[test]
fn what_a_person_is_asked_about_cannot_hide_or_move_anything() {
    let world = World::new(&json!({}));
    let command = "echo safe\u{202e}\u{200b}; rm -r build \u{9b}2K\u{1b}[1A";
    let call = json!({ "id": "1", "name": "write_file", "input": { "path": "/etc/x", "content": command } });
    world.write("play.json", &json!([{ "toolCalls": [call] }, { "text": "done" }]).to_string());
    let mut asking =
        world.pintle(&["chat", "--model", "scripted:play.json", "-q", "go", "--wait-for-approval"]);
    let mut asking = asking
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let asked = id(&world.pending());
    let said = world.run(&["approvals", "show", &asked]);
    for spelled in ["\\u202e", "\\u200b", "\\u009b2K", "\\u001b[1A"] {
        assert!(said.out.contains(spelled), "{spelled}: {said:?}");
    }
    world.run(&["approvals", "deny", &asked]);
    asking.wait().unwrap();
}

#[test]
fn a_folder_with_a_name_over_two_lines_is_one_line_of_an_error() {
    let world = World::new(&json!({}));
    let name = "pro\nerror: all is well\u{1b}[2J";
    world.write(&format!("{name}/agent.json"), "{ broken");
    let said = world.run(&["hooks", "lint", name]);
    assert!(!said.ok && said.err.contains("pro\\nerror: all is well\\u{1b}[2J"), "{said:?}");
}
