#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use pintle_policy::{Reach, zone_of};
use serde_json::json;

struct World {
    folder: tempfile::TempDir,
    own: Own,
}

impl World {
    /// A profile in a folder of the workspace, or the workspace itself, with a hook and a personality; all in a work tree of git.
    fn new(place: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap().join("work");
        let profile = work.join(place);
        for place in ["hooks", "personalities/guide"] {
            std::fs::create_dir_all(profile.join(place)).unwrap();
        }
        for file in ["agent.json", "hooks/check.sh", "personalities/guide/SOUL.md"] {
            std::fs::write(profile.join(file), "").unwrap();
        }
        for place in [".git", "sub/hooks", "sub/profile", "src", "out"] {
            std::fs::create_dir_all(work.join(place)).unwrap();
        }
        for file in ["sub/agent.json", "package.json", "a.txt", "src/a.rs"] {
            std::fs::write(work.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(profile.join("agent.json"), work.join("link")).unwrap();
        let data = folder.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&data).unwrap();
        let mut files = vec![data];
        let own = ["hooks", "agent.json", "personalities"];
        files.extend(own.map(|name| profile.join(name)));
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        let scripts = vec![profile.join("hooks/check.sh")];
        let (counts, program) = (Vec::new(), Some(program));
        Self {
            own: Own {
                files,
                scripts,
                modules: None,
                awaited: None,
                counts,
                program,
                workspace: work,
            },
            folder,
        }
    }

    fn concern(&self, command: &str) -> Option<String> {
        let input = json!({ "command": command });
        self.own.concern("terminal", &input, self.zone(command) < Zone::Machine)
    }

    fn zone(&self, command: &str) -> Zone {
        let input = json!({ "command": command });
        zone_of("terminal", Zone::Build, &input, &Reach::of(&input, &self.own.workspace)).zone
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }
}

/// One command in a line, with `\n` for a new one in it.
fn commands(list: &str) -> impl Iterator<Item = String> {
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.replace("\\n", "\n"))
}

#[test]
fn a_command_that_may_reach_the_agents_own_files_is_a_concern() {
    for (place, list) in
        [("", include_str!("asked.txt")), ("profile", include_str!("asked_below.txt"))]
    {
        let world = World::new(place);
        let asked = |command: &String| {
            let concern = world.concern(&command.replace("DATA", &world.data()));
            concern.is_some_and(|why| why.contains("the rules the agent works under"))
        };
        let missed: Vec<_> = commands(list).filter(|command| !asked(command)).collect();
        assert!(missed.is_empty(), "with the profile in `{place}`: {missed:#?}");
    }
}

/// A profile that lies elsewhere is reached by what leaves the workspace, and a person is asked about that.
#[test]
fn what_stays_in_the_workspace_is_no_concern_where_the_rules_lie_elsewhere() {
    let world = World::new("../elsewhere");
    std::fs::remove_file(world.own.workspace.join("link")).unwrap();
    for command in [
        "find . -name '*.py' | xargs sed -i 's/a/b/'",
        "find src -type f -exec rm {} +",
        "git diff --name-only | xargs black",
        "for i in $(seq 1 5); do ./run.sh $i; done",
        "cp -r templates/. \"out/$name/\"",
        "mkdir -p \"logs/$TS\"",
        "ls *.txt | while read f; do mv \"$f\" \"${f%.txt}.md\"; done",
        "git pull && make",
    ] {
        assert_eq!(world.concern(command), None, "{command}");
        assert!(world.zone(command) < Zone::Machine, "{command}");
    }
    for command in [
        "cp x ../elsewhere/agent.json",
        "echo x > ../elsewhere/hooks/check.sh",
        "cd ../elsewhere && ls | xargs rm",
        "find .. -name '*.json' -delete",
        "x=../elsewhere; rm $x/agent.json",
    ] {
        let is_asked = world.concern(command).is_some() || world.zone(command) >= Zone::Machine;
        assert!(is_asked, "{command}");
    }
}

#[test]
fn a_concern_is_said_in_words_of_the_line() {
    let world = World::new("");
    for (command, said) in [
        ("find . -name '*.json' | xargs sed -i s/a/b/", "whatever `xargs` reads"),
        ("find . -name '*.json' -exec sed -i s/a/b/ {} +", "whatever `find` finds"),
    ] {
        let concern = world.concern(command).unwrap();
        assert!(concern.contains(said), "{command}: {concern}");
    }
}

#[test]
fn an_everyday_command_is_no_concern_where_the_rules_lie() {
    for place in ["", "profile"] {
        let world = World::new(place);
        let asked: Vec<_> = commands(include_str!("everyday.txt"))
            .filter_map(|command| world.concern(&command).map(|why| (command, why)))
            .collect();
        assert!(asked.is_empty(), "with the profile in `{place}`: {asked:#?}");
    }
}

#[test]
fn the_lists_are_long_enough_to_mean_something() {
    assert!(commands(include_str!("everyday.txt")).count() > 100);
    assert!(commands(include_str!("asked.txt")).count() > 150);
}

#[test]
fn a_work_tree_that_does_not_hold_the_rules_may_change() {
    let world = World::new("profile");
    let repository = world.own.workspace.join("src");
    std::fs::remove_dir(world.own.workspace.join(".git")).unwrap();
    std::fs::create_dir(repository.join(".git")).unwrap();
    let asks = |command: &str, cwd: &str| {
        world.own.concern("terminal", &json!({ "command": command, "cwd": cwd }), false).is_some()
    };
    for command in ["git pull", "git checkout main", "git stash pop && git reset --hard X"] {
        assert!(!asks(command, "src"), "{command}");
        assert!(!asks(&format!("cd src && {command}"), ""), "{command}");
        assert!(asks(command, ""), "{command}");
    }
    assert!(asks("git --work-tree=.. checkout -f x", "src"));
    assert!(asks("GIT_WORK_TREE=.. git checkout -f x", "src"));
    assert!(asks("git -c core.worktree=.. checkout -f x", "src"));
    std::fs::create_dir(world.own.workspace.join(".git")).unwrap();
    assert!(asks("rm -rf .git; git checkout main", "src"), "the tree around it is next");
}

#[test]
fn a_name_that_is_a_version_to_git_is_no_file() {
    let world = World::new("");
    let git = world.own.workspace.join(".git");
    assert_eq!(world.concern("git checkout src/a.rs"), None);
    std::fs::write(git.join("packed-refs"), "0123 refs/heads/src/a.rs\n").unwrap();
    assert!(world.concern("git checkout src/a.rs").is_some());
    assert_eq!(world.concern("git checkout a.txt"), None);
    std::fs::create_dir_all(git.join("refs/tags")).unwrap();
    std::fs::write(git.join("refs/tags/a.txt"), "").unwrap();
    assert!(world.concern("git checkout a.txt").is_some());
}

#[test]
fn a_push_may_come_back_if_the_repository_takes_it() {
    let world = World::new("");
    let settings = world.own.workspace.join(".git/config");
    assert_eq!(world.concern("git push me evil:master"), None);
    std::fs::write(settings, "[receive]\n\tdenyCurrentBranch = updateInstead\n").unwrap();
    assert!(world.concern("git push me evil:master").is_some());
    assert_eq!(world.concern("git fetch me"), None);
}

#[test]
fn a_second_name_of_a_rule_is_the_rule() {
    let world = World::new("");
    let work = &world.own.workspace;
    std::fs::hard_link(work.join("agent.json"), work.join("src/innocent")).unwrap();
    std::fs::hard_link(work.join("hooks/check.sh"), work.join("src/script")).unwrap();
    for command in ["echo x > src/innocent", "cp a.txt src/script", "sed -i s/a/b/ src/*"] {
        assert!(world.concern(command).is_some(), "{command}");
    }
    let input = json!({ "path": "src/innocent", "content": "x" });
    assert!(world.own.concern("write_file", &input, true).is_some());
    assert_eq!(world.concern("echo x > src/a.rs"), None);
}

#[test]
fn a_link_to_a_rule_is_known_by_the_name_it_is_given() {
    let world = World::new("");
    let work = &world.own.workspace;
    std::os::unix::fs::symlink("../agent.json", work.join("sub/aj")).unwrap();
    std::os::unix::fs::symlink("../agent.json", work.join("sub/hooks/up")).unwrap();
    for command in [
        "mv sub s2; echo x > s2/aj",
        "mv sub/hooks h; echo x > h/up",
        "cp -a sub s2 && tee s2/aj < evil",
        "for d in sub; do mv $d s2; done; echo x > s2/aj",
        "mv s*b s2; echo x > s2/aj",
        "mv sub/aj x; echo x > x",
    ] {
        assert!(world.concern(command).is_some(), "{command}");
    }
    for command in ["mv src s2; echo x > s2/aj", "mv sub s2; cat s2/aj", "mv sub s2"] {
        assert_eq!(world.concern(command), None, "{command}");
    }
}

#[test]
fn a_command_that_runs_pintle_is_a_concern() {
    let world = World::new("");
    let running = std::env::current_exe().unwrap().display().to_string();
    for command in [
        "pintle trust . --accept",
        "sleep 1 && pintle approvals approve 1 &",
        "/usr/local/bin/pintle chat -q hi",
        "env A=1 timeout 5 pintle approvals list",
        "sh -c 'pintle trust .'",
        &format!("{running} trust ."),
        "p\\intle trust .",
    ] {
        let concern = world.concern(command);
        assert!(concern.is_some_and(|why| why.contains("runs pintle itself")), "{command}");
    }
    for command in ["echo pintle", "ls crates/pintle", "cargo build -p pintle"] {
        assert_eq!(world.concern(command), None, "{command}");
    }
}

#[test]
fn any_text_of_a_strangers_tool_may_be_a_path() {
    let world = World::new("");
    let concern = |tool: &str, input: Value| world.own.concern(tool, &input, true).is_some();
    assert!(concern("files__copy", json!({ "source": "a", "destination": "src/../agent.json" })));
    assert!(concern("files__delete", json!({ "paths": ["a", { "at": "personalities/guide" }] })));
    assert!(concern("write_file", json!({ "path": "link", "content": "x" })));
    assert!(!concern("write_file", json!({ "path": "a.txt", "content": "agent.json" })));
    assert!(!concern("files__copy", json!({ "source": "a", "destination": "b" })));
}
