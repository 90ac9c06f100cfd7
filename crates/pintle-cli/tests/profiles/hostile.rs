//! Tricks of a downloaded profile, and of an agent that would rather have other rules.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Said, World, fifo, id};

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
        assert!(!said.ok && said.err.contains("agent.json:2: the script"), "{said:?}");
        assert!(!world.run(&["hooks", "lint", "profile"]).ok);
    }
    world.write("profile/play.json", r#"[{ "text": "from the script" }]"#);
    world.agent(&json!({ "model": "scripted:play.json" }));
    assert_eq!(world.ask("hello").out.trim(), "from the script");
}

// R11.2: whoever goes home is outside, and so is the operator's file.
#[test]
fn no_way_home_leads_to_the_operators_file_unasked() {
    let operator = "level = \"permissive\"\n";
    for way in ["cd", "cd --", "cd -P", "cd -L", "builtin cd --", "d=-P; cd $d", "cd {-P,}"] {
        let world = World::new(&json!({
            "model": "scripted:play.json",
            "security": { "level": "permissive" },
        }));
        std::fs::write(world.data("pintle.toml"), operator).unwrap();
        let command = format!("{way} && cd data && echo 'max_turns = 900' > pintle.toml");
        let call = |id: &str, command: &str| {
            let call = json!({ "id": id, "name": "terminal", "input": { "command": command } });
            json!({ "text": "", "toolCalls": [call] })
        };
        let play = json!([call("1", "touch ran"), call("2", &command), { "text": "done" }]);
        world.write("profile/play.json", &play.to_string());
        let said = world.ask("go");
        let now = std::fs::read_to_string(world.data("pintle.toml")).unwrap();
        assert_eq!(now, operator, "{way}: {said:?}");
        assert!(world.path("ran").exists(), "a command in the workspace runs: {said:?}");
    }
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
    ] {
        let said = world.ask(question);
        assert!(said.out.contains("the rules the agent works under"), "{question}: {said:?}");
    }
    assert_eq!(world.read("profile/agent.json"), before);
    assert_eq!(world.read("profile/personalities/guide/SOUL.md"), "You guide.");
    assert!(world.ask("write profile/notes.txt: x").ok && world.path("profile/notes.txt").exists());
    assert!(world.ask("read profile/agent.json").out.contains("policies"), "reading is free");
}

#[test]
fn a_shell_command_that_reaches_for_the_rules_is_asked_about_at_any_level() {
    let world = World::new(&json!({}));
    std::fs::write(world.data("pintle.toml"), "level = \"permissive\"\n").unwrap();
    world.write("sub/agent.json", "{}");
    for command in [
        "echo {} > profile/agent.json",
        "cp x profile/agent.json",
        "tee -a=profile/agent.json",
        "cp sub/agent.json prof?le/agent.json",
        "cp sub/agent.json profile",
        "cd profile && cp ../sub/agent.json .",
        "cp sub/agent.json \"$PWD/profile/agent.json\"",
        "sed -i s/a/b/ profile/*.json",
        "tar xf evil.tar",
        "git checkout evil",
        "git mv -f sub/agent.json profile",
        "python3 -c \"open('profile/agent.json', 'w')\"",
    ] {
        let said = world.ask(&format!("run {command}"));
        assert!(said.out.contains("the rules the agent works under"), "{command}: {said:?}");
    }
    assert!(world.ask("run echo x > ran.txt").ok && world.path("ran.txt").exists());
    for command in ["cat profile/agent.json", "cp sub/agent.json .", "mkdir out && cd out && ls"] {
        let said = world.ask(&format!("run {command}"));
        assert!(!said.out.contains("the rules the agent works under"), "{command}: {said:?}");
    }
    assert!(world.path("agent.json").exists(), "what lies beside the profile is no rule of it");
}

#[test]
fn whoever_is_asked_sees_which_file_counts_and_why() {
    let asked = |hook: &str, command: &str| {
        let hook = json!({ "action": "command", "name": "gate", "command": hook });
        let world = World::new(&json!({ "hooks": { "onToolEnd": [hook] } })).allowing_programs();
        std::fs::write(world.data("pintle.toml"), "level = \"permissive\"\n").unwrap();
        for file in ["src/a.py", "src/b.py", "Makefile"] {
            world.write(&format!("profile/{file}"), "");
        }
        world.trust();
        let question = format!("run {command}");
        let mut chat = world.pintle_in("profile", &["chat", "--profile", ".", "-q", &question]);
        Said::from(chat.output().unwrap()).out
    };
    let of_src = "all in src counts, for the hook `gate` runs `python3 src/a.py`";
    let of_all =
        "every file of the profile counts, for it runs `make check`, which could load any of them";
    let nobody = "nobody can tell which files it writes";
    for (hook, command, file, why) in [
        ("python3 src/a.py", "sed -i s/a/b/ src/b.py", "src/b.py", of_src),
        ("python3 src/a.py", "echo x > src/new.py", "src/new.py", of_src),
        ("make check", "sed -i s/a/b/ src/a.py", "src/a.py", of_all),
        ("make check", "python3 -m compileall", nobody, of_all),
        ("make check", "echo x > new.py", "new.py", of_all),
        ("make check", "cp src/a.py new", "new", of_all),
    ] {
        let said = asked(hook, command);
        let told = format!("the rules the agent works under ({file}; {why})");
        assert!(said.contains(&told), "{command}: {said}");
    }
    let said = asked("make check", "cp x agent.json");
    assert!(said.contains("the rules the agent works under (agent.json)"), "{said}");
}

#[test]
fn a_name_that_a_script_makes_and_a_link_by_another_name_are_asked_about() {
    let world = World::new(&json!({}));
    std::fs::write(world.data("pintle.toml"), "level = \"permissive\"\n").unwrap();
    world.write("sub/x", "");
    symlink("../profile/agent.json", world.path("sub/aj")).unwrap();
    let before = world.read("profile/agent.json");
    for command in [
        r#"awk 'BEGIN{print "{}" > "profile/\141gent.json"}'"#,
        r#"awk 'BEGIN{print "{}" > "profile/agent.js" "on"}'"#,
        "mv sub s2; echo x > s2/aj",
    ] {
        let said = world.ask(&format!("run {command}"));
        assert!(said.out.contains("the rules the agent works under"), "{command}: {said:?}");
    }
    assert_eq!(world.read("profile/agent.json"), before);
    assert!(world.ask("run awk 'BEGIN{print 1 > \"out.txt\"}'").ok);
    assert!(world.path("out.txt").exists());
}

// R11.2
#[test]
fn a_folder_with_a_link_that_leads_away_is_not_gone_through_unasked() {
    let world = World::new(&json!({}));
    std::fs::write(world.data("pintle.toml"), "level = \"permissive\"\n").unwrap();
    world.write("sub/x", "found\n");
    assert!(world.ask("run grep -R found sub").out.contains("sub/x:found"));
    symlink("/etc", world.path("sub/l")).unwrap();
    for command in ["grep -R root sub", "cp -rL sub t2", "zip -r x.zip sub"] {
        let said = world.ask(&format!("run {command}"));
        assert!(said.out.contains("sub/l is /etc"), "{command}: {said:?}");
    }
    assert!(world.ask("run grep -r found sub").out.contains("sub/x:found"));
}

#[test]
fn an_agent_asks_before_it_runs_the_program_that_keeps_the_rules() {
    let world = World::new(&json!({}));
    std::fs::write(world.data("pintle.toml"), "level = \"permissive\"\n").unwrap();
    let own = env!("CARGO_BIN_EXE_pintle");
    symlink(own, world.path("innocent")).unwrap();
    for command in [
        "pintle trust profile --accept",
        "(sleep 1; pintle approvals approve 1) &",
        "./innocent trust profile --accept",
    ] {
        let question = format!("run {command}");
        let said = world.ask(&question);
        assert!(said.out.contains("it runs pintle itself"), "{command}: {said:?}");
        let without = world.run(&["chat", "-q", &question]);
        assert!(without.out.contains("zone `machine`"), "{command}: {without:?}");
    }
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
    assert!(world.run(&["chat", "-q", "run sh innocent.sh"]).ok);
    assert_eq!(world.read("trusts").matches("only a person trusts a profile").count(), 2);
    assert!(world.read("answers").contains("only a person answers a question"));
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
    for arguments in [&["approvals", "list"][..], &["approvals", "show", &asked]] {
        let said = world.run(arguments);
        for spelled in ["\\u202e", "\\u200b", "\\u009b2K", "\\u001b[1A"] {
            assert!(said.out.contains(spelled), "{spelled}: {said:?}");
        }
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
