//! `pintle init`: a sample profile to start from.

use std::{collections::BTreeMap, path::Path};

use crate::support::World;

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn it_writes_a_profile_that_loads_and_says_what_to_do_next() {
    let world = World::new();
    let said = world.run(&["init", "my-agent"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said}");
    assert!(said.out.contains("next:\n  pintle chat --profile my-agent\n"), "{said}");
    let wrote: Vec<_> = said.out.lines().filter_map(|line| line.strip_prefix("wrote ")).collect();
    assert!(wrote.contains(&"my-agent/agent.json"), "{said}");
    assert_eq!(wrote.len(), files(&world.file("my-agent")).len(), "each file is named");
    for file in wrote {
        assert!(world.file(file).is_file(), "{file}");
    }
    let lint = world.run(&["hooks", "lint", "my-agent"]);
    assert_eq!((lint.code, lint.err.as_str()), (Some(0), ""), "{lint}");
    let answer = world.run(&["chat", "--profile", "my-agent", "-q", "run git push origin main"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert!(answer.out.contains("denied by the rule `git push *`"), "{answer}");
    for call in ["write .env: x", "write sub/.env: x", "read sub/.git/config"] {
        let answer = world.run(&["chat", "--profile", "my-agent", "-q", call]);
        assert!(answer.out.contains("is denied by the rule `**/."), "{answer}");
    }
    assert!(!world.file("sub").exists() && !world.file(".env").exists());
}

// A newcomer sees hooks at work, and nobody has to allow anything for it.
#[test]
fn its_hooks_are_bound_and_do_what_it_says_of_them() {
    let world = World::new();
    world.run(&["init", "my-agent"]);
    let lint = world.run(&["hooks", "lint", "my-agent"]);
    assert!(lint.out.contains("4 hooks, 2 guards") && !lint.out.contains("warning"), "{lint}");
    let readme = std::fs::read_to_string(world.file("my-agent/PROFILE.md")).unwrap();
    let hooks = world.run(&["hooks", "list", "--profile", "my-agent", "--json"]).json();
    let own =
        |hook: &&serde_json::Value| hook["source"].as_str().unwrap().starts_with("agent.json");
    for hook in hooks.as_array().unwrap().iter().filter(own) {
        assert!(readme.contains(&format!("`{}`", hook["name"].as_str().unwrap())), "{hook}");
    }
    let said = world.run(&["chat", "--profile", "my-agent", "-q", "write a.txt: x"]);
    assert!(said.err.contains("hello") && said.err.contains("calls"), "{said}");
    assert!(said.err.contains("ask before writing"), "{said}");
    assert!(!world.file("a.txt").exists(), "nobody was there to ask: {said}");
    let diary = std::fs::read_to_string(world.file("my-agent/log/calls.jsonl")).unwrap();
    assert!(diary.contains("write_file"), "{diary}");
}

#[test]
fn what_it_says_of_each_action_can_be_put_to_use_as_it_stands() {
    let world = World::new();
    world.run(&["init", "my-agent"]);
    let readme = std::fs::read_to_string(world.file("my-agent/PROFILE.md")).unwrap();
    let mut agent = std::fs::read_to_string(world.file("my-agent/agent.json")).unwrap();
    let shown = readme.lines().filter(|line| line.starts_with("    ") && line.contains("action"));
    for line in shown {
        let place = if line.contains("onComplete") { "\"hooks\": {" } else { "\"onToolCall\": [" };
        assert!(agent.contains(place) && readme.contains(&format!("`{place}`")), "{place}");
        agent = agent.replacen(place, &format!("{place}\n{line}"), 1);
    }
    for action in ["log", "webhook", "save_json", "approve", "command"] {
        assert!(agent.contains(&format!("\"action\": \"{action}\"")), "{action} in {agent}");
    }
    assert!(agent.contains("hooks/check.sh") && agent.contains("\"worker\": true"), "{agent}");
    world.write("my-agent/agent.json", agent);
    let refused = world.run(&["hooks", "lint", "my-agent"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    world.write(
        "../data/pintle.toml",
        "allow_command_hooks = true\nwebhook_allowlist = [\"https://audit.example\"]\n",
    );
    let lint = world.run(&["hooks", "lint", "my-agent"]);
    assert_eq!((lint.code, lint.err.as_str()), (Some(0), ""), "{lint}");
    assert_eq!(world.run(&["trust", "my-agent", "--accept"]).code, Some(0));

    // The program and the worker answer as they say they do.
    let call = |path: &str| {
        let input = format!("{{\"path\": \"{path}\", \"command\": \"ls {path}\"}}");
        let payload = format!(
            "{{\"toolCallId\": \"1\", \"toolName\": \"terminal\", \"toolInput\": {input}, \"zone\": 2}}"
        );
        world.write("call.json", payload);
        world.run(&[
            "hooks",
            "fire",
            "tool.pre",
            "--payload",
            "call.json",
            "--profile",
            "my-agent",
            "--json",
        ])
    };
    let fine = call("staging").json();
    let outcomes: Vec<_> =
        fine["handlers"].as_array().unwrap().iter().map(|h| h["outcome"].clone()).collect();
    assert!(!fine.to_string().contains("failed") && outcomes.len() >= 3, "{fine:#}");
    assert!(call("production").out.contains("production is off limits"));
    // The name of a session or a folder is no part of a call.
    let named = ["--profile", "my-agent", "--session", "production", "-q", "run echo fine"];
    let said = world.run(&[&["chat"], &named[..]].concat());
    assert!(said.code == Some(0) && said.out.contains("fine"), "{said}");
    assert!(!said.out.contains("off limits") && !said.err.contains("off limits"), "{said}");
}

#[test]
fn the_folder_it_is_started_in_will_do() {
    let world = World::new();
    assert_eq!(world.run(&["init"]).code, Some(0));
    assert_eq!(world.run(&["hooks", "lint"]).code, Some(0));
}

#[test]
fn for_machines_it_names_the_files() {
    let world = World::new();
    let said = world.run(&["init", "--json", "my-agent"]).json();
    assert_eq!(said["profile"], world.file("my-agent").display().to_string());
    for file in said["files"].as_array().unwrap() {
        assert!(world.file("my-agent").join(file.as_str().unwrap()).is_file(), "{file}");
    }
}

#[test]
fn it_writes_over_nothing() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    let all: Vec<_> = files(&world.file("my-agent")).into_keys().collect();
    for kept in all {
        let world = World::new();
        let name = kept.rsplit_once("my-agent/").unwrap().1;
        world.write(&format!("mine/{name}"), "mine");
        let before = files(&world.file("mine"));
        let said = world.run(&["init", "mine"]);
        assert_eq!(said.code, Some(1), "{said}");
        assert_eq!(said.out, "");
        assert!(said.err.contains("already exists; nothing was written"), "{said}");
        assert_eq!(files(&world.file("mine")), before);
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let world = World::new();
    world.write("a-file", "");
    let said = world.run(&["init", "a-file/my-agent"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("TEMP/work/a-file") || said.err.contains("/a-file/"), "{said}");
}

#[test]
fn a_project_with_files_of_its_own_gets_a_profile_too() {
    let world = World::new();
    world.write("README.md", "mine");
    world.write("hooks/mine.sh", "true");
    let said = world.run(&["init"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(std::fs::read_to_string(world.file("README.md")).unwrap(), "mine");
}

// Whatever the folder is called, what it says to do next can be pasted.
#[test]
fn what_it_says_to_do_next_works_as_it_stands() {
    for folder in ["my-agent", "my agent", "it's $HOME; mine", "./-x"] {
        let world = World::new();
        let said = world.run(&["init", folder]);
        assert_eq!(said.code, Some(0), "{said}");
        let next: Vec<_> = said.out.lines().filter(|line| line.starts_with("  pintle ")).collect();
        assert_eq!(next.len(), 3, "{said}");
        for command in next {
            let pasted = world.pasted(command, &[]);
            assert_eq!(pasted.code, Some(0), "{command}: {pasted}");
        }
        let trust = world.run(&["trust", folder]);
        let accept = trust.err.lines().find_map(|line| {
            let (_, line) = line.split_once("not trusted · ")?;
            line.strip_suffix(" trusts it without a question")
        });
        assert_eq!(world.pasted(accept.unwrap(), &[]).code, Some(0), "{trust}");
    }
}
