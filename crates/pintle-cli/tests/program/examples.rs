//! The files of `examples/` are copied as a person would, accepted with `pintle trust`, and tried through the program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::support::World;

const ALLOWED: [(&str, &str); 1] = [("PINTLE_ALLOW_COMMAND_HOOKS", "1")];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Copies a folder, with its execute bits.
fn copied(world: &World, from: &Path, to: &str) {
    fs::create_dir_all(world.file(to)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = format!("{to}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            copied(world, &path, &to);
        } else {
            fs::copy(&path, world.file(&to)).unwrap();
        }
    }
}

/// Runs one line, which has to exit with 0, and gives all that it printed.
fn says(world: &World, line: &str) -> String {
    let said = world.pasted(line, &ALLOWED);
    assert_eq!(said.code, Some(0), "{line}: {said}");
    format!("{}{}", said.out, said.err)
}

// R10.9: `pintle_worker` is a file that the guard loads, so it is below `hooks/`, where trust covers it.
#[test]
fn the_workers_guard_as_their_first_lines_tell_and_cannot_be_changed_unseen() {
    for (worker, library) in
        [("no_force_push.py", "pintle_worker.py"), ("no-force-push.mjs", "pintle-worker.mjs")]
    {
        let world = World::new();
        copied(&world, &folder("workers"), "hooks");
        let text = fs::read_to_string(world.file(&format!("hooks/{worker}"))).unwrap();
        let bound = text
            .lines()
            .find_map(|line| line.trim_start_matches(['/', ' ']).strip_prefix("\"onToolCall\": "));
        let bound: serde_json::Value = serde_json::from_str(bound.expect(worker)).unwrap();
        world.write("agent.json", json!({ "hooks": { "onToolCall": bound } }).to_string());
        says(&world, "pintle trust --accept");
        assert!(says(&world, "pintle chat -q 'run echo fine'").contains("fine"));
        let said = says(&world, "pintle chat -q 'run git push -f origin HEAD:main'");
        assert!(said.contains("force-pushing main rewrites what others build on"), "{said}");

        let library = world.file(&format!("hooks/{library}"));
        let changed = fs::read_to_string(&library).unwrap() + "\n";
        fs::write(&library, changed).unwrap();
        let said = says(&world, "pintle chat -q 'run echo fine'");
        assert!(said.contains("changed since it was trusted"), "{said}");
    }
}

#[test]
fn every_profile_is_without_fault_and_blocks_what_its_guard_is_for() {
    let blocked = [
        ("sh-guard", "run ./deploy \"x\" prod", "production is off limits; use staging"),
        ("python-guard", "write a.txt: AKIAABCDEFGHIJKLMNOP", "`content` contains a key"),
        ("approve", "write a.txt: x", "ask-before-writing"),
    ];
    assert_eq!(
        fs::read_dir(folder("profiles")).unwrap().count(),
        blocked.len(),
        "each profile is tried"
    );
    for (profile, call, reason) in blocked {
        let world = World::new();
        copied(&world, &folder(&format!("profiles/{profile}")), ".");
        let lint = says(&world, "pintle hooks lint");
        assert!(!lint.contains("warning"), "{profile}: {lint}");
        says(&world, "pintle trust --accept");
        assert!(says(&world, "pintle chat -q 'run echo fine'").contains("fine"), "{profile}");
        let said = says(&world, &format!("pintle chat -q '{call}'"));
        assert!(said.contains(reason) && !world.file("a.txt").exists(), "{profile}: {said}");
    }
}
