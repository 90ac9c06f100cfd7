//! Programs of a profile run only as somebody has seen them: hooks, and servers (R10.8, R10.9).

use std::{io::ErrorKind, net::TcpListener};

use serde_json::{Value, json};

use crate::support::{Said, World};

/// A server that leaves a file behind, and speaks no protocol.
fn server() -> Value {
    json!({ "mcpServers": { "files": { "command": "sh", "args": ["hooks/serve.sh"] } } })
}

#[test]
fn a_server_starts_only_as_it_was_trusted() {
    let world = World::new(&server()).allowing_programs();
    world.script("profile/hooks/serve.sh", "#!/bin/sh\ntouch started\n");
    let said = world.ask("list .");
    assert!(!said.ok && said.err.contains("this profile is not trusted yet"), "{said:?}");
    assert!(said.err.contains("pintle trust"), "{said:?}");
    assert!(!world.path("profile/started").exists());

    let shown = world.run(&["trust", "profile"]);
    assert!(shown.out.contains("hooks/serve.sh"), "{shown:?}");
    world.trust();
    world.run(&["hooks", "list", "--profile", "profile"]);
    assert!(!world.path("profile/started").exists(), "to look at hooks starts nothing");
    world.ask("list .");
    assert!(world.path("profile/started").exists());

    std::fs::remove_file(world.path("profile/started")).unwrap();
    world.script("profile/hooks/serve.sh", "#!/bin/sh\ntouch started # and more\n");
    let said = world.ask("list .");
    assert!(said.err.contains("`hooks/serve.sh` has changed since it was trusted"), "{said:?}");
    assert!(!world.path("profile/started").exists());
}

#[test]
fn nobody_is_called_at_the_word_of_a_profile_that_nobody_trusts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let world = World::new(&json!({ "mcpServers": { "beacon": { "url": url } } }));
    let said = world.ask("list .");
    assert!(!said.ok && said.err.contains("not trusted"), "{said:?}");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody called");
}

// R10.9
#[test]
fn a_script_that_comes_to_be_later_is_not_trusted() {
    let hook =
        json!({ "action": "command", "argv": ["sh", "hooks/later.sh"], "tools": ["write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    world.trust();
    let missing = world.ask("write a.txt: x");
    assert!(!world.path("a.txt").exists(), "{missing:?}");
    world.script("profile/hooks/later.sh", "#!/bin/sh\ntouch ran\n");
    let said = world.ask("write b.txt: x");
    assert!(said.out.contains("is new since the profile was trusted"), "{said:?}");
    assert!(!world.path("b.txt").exists() && !world.path("profile/ran").exists());
    world.trust();
    world.ask("write c.txt: x");
    assert!(world.path("c.txt").exists() && world.path("profile/ran").exists());
}

#[test]
fn a_script_that_becomes_a_pipe_or_a_link_is_not_trusted_and_not_waited_for() {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "tools": ["write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    let script = world.path("profile/hooks/check.sh");
    world.script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null\n");
    world.trust();
    let mut talk = world.talk(&["--json"]);
    talk.settle("a.txt");
    std::fs::remove_file(&script).unwrap();
    world.script("elsewhere/check.sh", "#!/bin/sh\ncat >/dev/null # and more\n");
    std::os::unix::fs::symlink(world.path("elsewhere/check.sh"), &script).unwrap();
    talk.say("write b.txt: x");
    talk.say("list .");
    crate::support::until(
        || world.run(&["trace", "--json"]).out.contains("list_dir"),
        "the next run",
    );
    std::fs::remove_file(&script).unwrap();
    crate::support::fifo(&script);
    talk.say("write c.txt: x");
    let said = talk.end();
    assert!(said.out.contains("`hooks/check.sh` has changed since it was trusted"), "{said:?}");
    assert!(said.out.contains("cannot be read: it is not an ordinary file"), "{said:?}");
    assert!(!world.path("b.txt").exists() && !world.path("c.txt").exists());
}

#[test]
fn two_who_trust_two_profiles_at_once_do_not_undo_each_other() {
    let world = World::new(&json!({}));
    let names: Vec<String> = (0..6).map(|n| format!("p{n}")).collect();
    for name in &names {
        world.write(&format!("{name}/agent.json"), "{}");
    }
    let mut all: Vec<_> = names
        .iter()
        .map(|name| world.pintle(&["trust", name, "--accept"]).spawn().unwrap())
        .collect();
    assert!(all.iter_mut().all(|child| child.wait().unwrap().success()));
    for name in &names {
        let said = world.run(&["trust", name]);
        assert!(said.out.contains("nothing has changed"), "{name}: {said:?}");
    }
}

// R8.6
#[test]
fn a_hook_sees_what_the_operator_adds_and_no_more() {
    let hook = json!({ "action": "command", "command": "env > seen", "tools": ["list_dir"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }))
        .allowing_programs()
        .operator("TEAM", "somebody else's");
    std::fs::create_dir_all(world.data("")).unwrap();
    std::fs::write(world.data("pintle.toml"), "[hook_env]\nTEAM = \"payments\"\n").unwrap();
    world.trust();
    let said = world.ask("list .");
    assert!(said.ok, "{said:?}");
    let seen = world.read("profile/seen");
    assert!(seen.lines().any(|line| line == "TEAM=payments"), "{seen}");
    assert!(!seen.contains("PINTLE_ALLOW_COMMAND_HOOKS"), "{seen}");
}

// R10.4: what is right loads, however it is laid out.
#[test]
fn hooks_without_names_on_one_line_are_told_apart() {
    let world = World::new(&json!({}));
    let one_line = r#"{"hooks":{"onToolCall":[{"action":"log"},{"action":"log"}]}}"#;
    world.write("profile/agent.json", one_line);
    let listed = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
    assert!(listed.ok, "{listed:?}");
    for name in ["log at agent.json:1", "log at agent.json:1 (2)"] {
        assert!(listed.out.contains(name), "{listed:?}");
    }
}

fn guarded_by(hook: Value) -> World {
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    world.write("profile/hooks/rules.py", "import sys\nALLOWED = True\n");
    let main = "from rules import ALLOWED\nraise SystemExit(0 if ALLOWED else 1)\n";
    world.write("profile/hooks/main.py", main);
    world
}

// R10.9: Python prefers what it compiled earlier to what is written.
#[test]
fn a_compiled_file_that_nobody_has_looked_at_is_not_run() {
    let hook =
        json!({ "action": "command", "command": "python3 hooks/main.py", "tools": ["write_file"] });
    let world = guarded_by(hook);
    world.trust();
    world.ask("write a.txt: x");
    assert!(world.path("a.txt").exists());
    let plant = "import os, py_compile\n\
                 was = os.stat('hooks/rules.py')\n\
                 kept = open('hooks/rules.py').read()\n\
                 evil = 'open(\"ran\", \"w\")'\n\
                 open('hooks/rules.py', 'w').write(evil + '#' * (was.st_size - len(evil)))\n\
                 os.utime('hooks/rules.py', ns=(was.st_atime_ns, was.st_mtime_ns))\n\
                 py_compile.compile('hooks/rules.py')\n\
                 open('hooks/rules.py', 'w').write(kept)\n\
                 os.utime('hooks/rules.py', ns=(was.st_atime_ns, was.st_mtime_ns))\n";
    let planted = std::process::Command::new("python3")
        .args(["-c", plant])
        .current_dir(world.path("profile"))
        .status()
        .unwrap();
    assert!(planted.success());
    let said = world.ask("write b.txt: x");
    assert!(said.out.contains("hooks/__pycache__/rules."), "{said:?}");
    assert!(!world.path("b.txt").exists() && !world.path("profile/ran").exists());
    world.trust();
    world.ask("write c.txt: x");
    assert!(world.path("profile/ran").exists(), "it would have run");
}

// R10.9: a script that runs another.
#[test]
fn a_script_that_another_one_loads_runs_only_as_it_was_trusted() {
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "tools": ["write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    world.script(
        "profile/hooks/check.sh",
        "#!/bin/sh\n. \"$PINTLE_PROFILE_DIR/hooks/lib/rules.sh\"\ncat >/dev/null\n",
    );
    world.write("profile/hooks/lib/rules.sh", "true\n");
    world.trust();
    world.ask("write a.txt: x");
    assert!(world.path("a.txt").exists());
    world.write("profile/hooks/lib/rules.sh", "touch ran\n");
    let said = world.ask("write b.txt: x");
    assert!(said.out.contains("`hooks/lib/rules.sh` has changed since it was trusted"), "{said:?}");
    assert!(!world.path("b.txt").exists() && !world.path("profile/ran").exists());
}

// R10.9: a file that a hook names belongs to the profile's own.
#[test]
fn a_file_that_a_hook_names_is_trusted_by_content_and_not_written_unasked() {
    let hook = json!({ "action": "command", "command": "! grep -qf etc/deny.txt", "tools": ["write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    world.write("profile/etc/deny.txt", "sesame\n");
    world.trust();
    let ask = |question: &str| {
        let asked =
            world.pintle_in("profile", &["chat", "--profile", ".", "-q", question]).output();
        Said::from(asked.unwrap())
    };
    let said = ask("write etc/deny.txt: nothing");
    assert!(said.out.contains("it writes a protected file"), "{said:?}");
    ask("write etc/notes.txt: x");
    assert!(world.path("profile/etc/notes.txt").exists(), "a file that no hook names is free");
    world.ask("write a.txt: sesame");
    assert!(!world.path("a.txt").exists());
    world.write("profile/etc/deny.txt", "nothing\n");
    let said = world.ask("write b.txt: x");
    assert!(said.out.contains("`etc/deny.txt` has changed since it was trusted"), "{said:?}");
}

// R10.9: hooks as people write them stay trusted, run after run, and leave the project to the agent.
#[test]
fn a_hook_that_writes_beside_its_folder_stays_trusted_and_leaves_the_project_to_the_agent() {
    let log = "import sys\nfrom pathlib import Path\n\
               with (Path(__file__).parent.parent / 'audit.jsonl').open('a') as f: f.write('x')\n";
    for (command, script, says) in [
        ("sh hooks/c.sh", "hooks/c.sh", "cat >> \"$PINTLE_PROFILE_DIR/hook.log\"\n"),
        ("sh hooks/c.sh >> hook.log", "hooks/c.sh", "date\n"),
        ("python3 hooks/c.py", "hooks/c.py", log),
        ("make -s check", "Makefile", "check:\n\t@date > made\n"),
    ] {
        let world = hooked(command, &[(script, says), ("src/a.py", "x = 1\n")]);
        for file in ["src/b.txt", "src/a.py", "Makefile", "b.txt"] {
            let question = format!("write {file}: check:");
            let asking = ["chat", "--profile", ".", "-q", &question];
            let said = Said::from(world.pintle_in("profile", &asking).output().unwrap());
            let written = world.read(&format!("profile/{file}"));
            assert_eq!(written.trim_end(), "check:", "{says}: {said:?}");
        }
        assert!(world.run(&["trust", "profile"]).out.contains("nothing has changed"), "{says}");
    }
}

// R11.2: git runs what is written there.
#[test]
fn an_agent_asks_before_it_writes_what_git_runs() {
    let world = World::new(&json!({}));
    for file in [".git/hooks/pre-commit", ".git/config", ".envrc"] {
        let said = world.ask(&format!("write {file}: x"));
        assert!(said.out.contains("it writes a protected file"), "{said:?}");
        assert!(!world.path(file).exists());
    }
    world.ask("write .git/description: x");
    assert!(world.path(".git/description").exists());
}

// R10.6
#[test]
fn no_line_is_saved_to_a_file_that_was_made_a_program() {
    use std::os::unix::fs::PermissionsExt;
    let save = json!({ "action": "save_json", "path": "calls.log" });
    let world = World::new(&json!({ "hooks": { "onToolCall": [save] } }));
    let mut talk = world.talk(&["--json"]);
    talk.settle("a.txt");
    let file = world.path("profile/calls.log");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = world.read("profile/calls.log");
    talk.say("write b.txt: x");
    let said = talk.end();
    assert_eq!(world.read("profile/calls.log"), before);
    assert!(said.out.contains("it may be run"), "{said:?}");
}

// R10.6, R10.9: what hooks save is no program.
#[test]
fn saved_lines_do_not_make_a_profile_untrusted_and_cannot_become_a_program() {
    let command =
        json!({ "action": "command", "command": "python3 hooks/main.py", "tools": ["write_file"] });
    let save = |path: &str| json!({ "action": "save_json", "path": path });
    let hooks = |path: &str| json!({ "hooks": { "onToolCall": [command, save(path)] } });
    let world = guarded_by(command.clone());
    world.write("profile/agent.json", &hooks("logs/calls.jsonl").to_string());
    world.trust();
    for file in ["a.txt", "b.txt"] {
        let said = world.ask(&format!("write {file}: x"));
        assert!(world.path(file).exists(), "{said:?}");
    }
    assert_eq!(world.read("profile/logs/calls.jsonl").lines().count(), 2);
    world.write("profile/agent.json", &hooks("hooks/more.json").to_string());
    let said = world.run(&["hooks", "lint", "profile"]);
    assert!(!said.ok && said.err.contains("`hooks/more.json` lies in `hooks/`"), "{said:?}");
}

// R10.9: whoever tried a script by hand is told what came of it, and how to be rid of it.
#[test]
fn a_script_that_was_run_by_hand_is_trusted_again_once_its_traces_are_removed() {
    let hook =
        json!({ "action": "command", "command": "python3 hooks/main.py", "tools": ["write_file"] });
    let world = guarded_by(hook);
    world.trust();
    let by_hand = std::process::Command::new("python3")
        .arg("hooks/main.py")
        .current_dir(world.path("profile"))
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .status()
        .unwrap();
    assert!(by_hand.success() && world.path("profile/hooks/__pycache__").exists());
    let said = world.ask("write a.txt: x");
    for part in
        ["hooks/__pycache__/rules.", "remove the folder `hooks/__pycache__`", "pintle trust"]
    {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    let shown = world.run(&["trust", "profile"]);
    assert!(shown.out.contains("! `hooks/__pycache__`: Python would run it"), "{shown:?}");
    std::fs::remove_dir_all(world.path("profile/hooks/__pycache__")).unwrap();
    world.ask("write a.txt: x");
    assert!(world.path("a.txt").exists());
}

// R10.9: pintle's own records change with every run.
#[test]
fn a_data_folder_inside_the_profile_makes_it_no_less_trusted() {
    let hook = json!({ "action": "command", "argv": ["python3", "hooks/main.py"], "tools": ["write_file"] });
    for place in ["profile/data", "profile"] {
        let world = guarded_by(hook.clone());
        let data = world.path(place).display().to_string();
        let world = world.operator("PINTLE_DATA", data);
        world.trust();
        for file in ["a.txt", "b.txt", "c.txt"] {
            let said = world.ask(&format!("write {file}: x"));
            assert!(world.path(file).exists(), "{place}: {said:?}");
        }
    }
}

#[test]
fn programs_run_also_where_the_end_of_processes_was_ignored() {
    let world = World::new(&json!({
        "hooks": { "onToolCall": [{ "action": "command", "argv": ["hooks/check.sh"] }] }
    }));
    let world = world.allowing_programs();
    world.script("profile/hooks/check.sh", "#!/bin/sh\nexit 0\n");
    world.trust();
    let chat = world.pintle(&["chat", "--profile", "profile", "-q", "write a.txt: x"]);
    let ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); \
                  os.execv(sys.argv[1], sys.argv[1:])";
    let mut ignoring = std::process::Command::new("python3");
    ignoring.args(["-c", ignore]).arg(chat.get_program());
    ignoring.args(chat.get_args()).current_dir(chat.get_current_dir().unwrap()).env_clear();
    ignoring.envs(chat.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = ignoring.output().unwrap();
    assert!(said.status.success() && world.path("a.txt").exists(), "{said:?}");
}

/// A profile with one hook, and its script.
fn hooked(command: &str, files: &[(&str, &str)]) -> World {
    let hook = json!({ "action": "command", "command": command, "tools": ["write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } })).allowing_programs();
    for (file, text) in files {
        world.write(&format!("profile/{file}"), text);
    }
    world.trust();
    world
}

// R10.9: whoever accepts a change has seen it.
#[test]
fn trust_shows_what_changed_line_by_line() {
    let world = hooked("sh hooks/c.sh", &[]);
    let first = world.run(&["trust", "profile"]);
    assert!(first.out.contains("nothing has changed"), "{first:?}");
    world.write("profile/hooks/c.sh", "one\ntwo\n");
    world.write("profile/hooks/tool", "\0binary");
    let shown = world.run(&["trust", "profile"]).out;
    for part in [
        "hooks/c.sh  new  +2 -0",
        "  1 + │ one\n  2 + │ two\n",
        "hooks/tool  new\n  none → sha256:",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    world.trust();
    world.write("profile/hooks/c.sh", "one\nthree\u{1b}[2K\n");
    world.write("profile/hooks/tool", "\0other");
    let shown = world.run(&["trust", "profile"]).out;
    for part in [
        "hooks/c.sh  changed  +1 -1  runs at: tool.pre",
        "  1   │ one\n  2 - │ two\n  2 + │ three\\u{1b}[2K\n",
        "hooks/tool  changed\n  sha256:",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown: Value =
        serde_json::from_str(&world.run(&["--json", "trust", "profile"]).out).unwrap();
    let changes = shown["changes"].as_array().unwrap();
    assert!(changes[0]["diff"].as_str().unwrap().contains("-two\n"), "{shown}");
    assert!(changes[1]["diff"].is_null() && changes[1]["was"] != changes[1]["now"], "{shown}");
    // Of a file that no profile has any more nothing is kept.
    world.trust();
    let kept = std::fs::read_dir(world.data("trusted")).unwrap().count();
    assert_eq!(kept, 3, "agent.json and two files");
}
