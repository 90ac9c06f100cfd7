//! A profile that changes while a conversation goes on: in force whole, between runs, or not at all.

use serde_json::{Value, json};

use crate::support::{World, id};

fn denying(pattern: &str) -> Value {
    json!({ "policies": [{ "tool": "write_file", "kind": "path", "deny": [pattern] }] })
}

const KEPT: &str = "the old version stays in force";
const TAKEN: &str = "the new version is in force";

#[test]
fn with_json_too_a_changed_profile_is_in_force_for_the_next_run() {
    let world = World::new(&json!({}));
    let mut talk = world.talk(&["--json"]);
    talk.settle("a.txt");
    world.agent(&denying("denied-*"));
    talk.say("write denied-1.txt: x");
    talk.settle("b.txt");
    let said = talk.end();
    assert!(!world.path("denied-1.txt").exists() && said.err.contains(TAKEN), "{said:?}");
    assert!(said.out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{said:?}");
}

#[test]
fn a_profile_that_is_deleted_keeps_guarding_and_one_that_comes_back_is_taken() {
    let world = World::new(&denying("denied-*"));
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    std::fs::remove_file(world.path("profile/agent.json")).unwrap();
    talk.say("write denied-1.txt: x");
    talk.settle("b.txt");
    world.agent(&denying("forbidden-*"));
    talk.say("write forbidden-1.txt: x");
    talk.settle("denied-2.txt");
    let said = talk.end();
    assert!(!world.path("denied-1.txt").exists() && !world.path("forbidden-1.txt").exists());
    assert!(said.err.contains(KEPT) && said.err.contains(TAKEN), "{said:?}");
}

// R11.3
#[test]
fn a_change_that_loosens_the_floor_is_not_taken() {
    let world = World::new(&denying("denied-*"));
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    world.agent(&json!({ "security": { "level": "permissive" } }));
    talk.say("write denied-1.txt: x");
    talk.say("run ssh -V; touch ran.txt");
    talk.settle("b.txt");
    let said = talk.end();
    assert!(said.err.contains("looser than the operator's") && said.err.contains(KEPT), "{said:?}");
    assert!(!world.path("denied-1.txt").exists() && !world.path("ran.txt").exists());
}

#[test]
fn a_floor_that_the_operator_raises_is_in_force_for_the_next_run() {
    let world = World::new(&json!({}));
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    std::fs::write(world.data("pintle.toml"), "level = \"paranoid\"\n").unwrap();
    // At this level even a write in the workspace is asked about.
    talk.say("write b.txt: x");
    talk.say("list .");
    let said = talk.end();
    assert!(said.err.contains(TAKEN) && !world.path("b.txt").exists(), "{said:?}");
    assert!(said.err.contains("pintle.toml changed: the new version"), "{said:?}");
    assert!(!said.err.contains("the profile changed"), "{said:?}");
}

// R10.8
#[test]
fn settings_that_become_a_link_to_nowhere_stop_the_conversation() {
    let world = World::new(&json!({}));
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    std::os::unix::fs::symlink(world.path("gone"), world.data("pintle.toml")).unwrap();
    talk.say("write b.txt: x");
    let said = talk.end();
    assert!(said.err.contains("a link that leads nowhere"), "{said:?}");
    assert!(!world.path("b.txt").exists());
}

const HELD: &str = "as far as pintle.toml allows it now";

// R10.8: also when the profile asks for less than that, and could not be loaded any more.
#[test]
fn a_floor_that_the_operator_raises_holds_a_profile_that_asks_for_more() {
    for more in [&[][..], &["--json"]] {
        let world = World::new(&json!({ "security": { "level": "standard" } }));
        let mut talk = world.talk(more);
        talk.settle("a.txt");
        std::fs::write(world.data("pintle.toml"), "level = \"paranoid\"\n").unwrap();
        talk.say("write b.txt: x");
        talk.say("write c.txt: x");
        let said = talk.end();
        assert!(said.err.contains("looser than") && said.err.contains(HELD), "{said:?}");
        assert!(!world.path("b.txt").exists() && !world.path("c.txt").exists(), "{said:?}");
    }
}

#[test]
fn a_broken_profile_does_not_shield_the_old_one_from_the_operator() {
    let world = World::new(&denying("denied-*"));
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    world.agent(&json!({ "polices": [] }));
    talk.settle("b.txt");
    std::fs::write(world.data("pintle.toml"), "level = \"paranoid\"\n").unwrap();
    talk.say("write c.txt: x");
    talk.say("list .");
    let said = talk.end();
    assert!(said.err.contains(KEPT) && said.err.contains(HELD), "{said:?}");
    assert!(!world.path("c.txt").exists(), "{said:?}");
}

// A guard that may no longer run guards nothing, and a file that says nothing clear allows nothing.
#[test]
fn what_the_operator_takes_away_whole_stops_every_run_until_it_is_mended() {
    let allowed = "allow_command_hooks = true\n";
    for file in ["allow_command_hooks = false\n", "level = \"strictest\"\n"] {
        let world = World::new(&json!({}));
        std::fs::write(world.data("pintle.toml"), allowed).unwrap();
        world.script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null\n");
        let hook =
            json!({ "action": "command", "argv": ["hooks/check.sh"], "tools": ["write_file"] });
        world.agent(&json!({ "hooks": { "onToolCall": [hook] } }));
        world.trust();
        let mut talk = world.talk(&[]);
        talk.settle("a.txt");
        std::fs::write(world.data("pintle.toml"), file).unwrap();
        talk.say("write refused.txt: x");
        talk.say("list .");
        let said = talk.end();
        assert!(!world.path("refused.txt").exists(), "{said:?}");
        assert_eq!(said.err.matches("nothing runs until").count(), 2, "each time: {said:?}");
        assert!(!world.ask("list .").ok, "it would not start either");
    }
}

// R10.9
#[test]
fn a_change_that_brings_a_program_blocks_until_somebody_has_looked_at_it() {
    let world = World::new(&json!({})).allowing_programs();
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    world.script("profile/hooks/check.sh", "#!/bin/sh\ncat >/dev/null; touch ran-the-script\n");
    let hook = json!({ "action": "command", "argv": ["hooks/check.sh"], "tools": ["write_file"] });
    world.agent(&json!({ "hooks": { "onToolCall": [hook] } }));
    talk.say("write b.txt: x");
    talk.say("list .");
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !world.run(&["trace", "--json"]).out.contains("list_dir") {
        assert!(std::time::Instant::now() < limit);
    }
    assert!(!world.path("b.txt").exists() && !world.path("profile/ran-the-script").exists());
    // Trusting it, from another terminal, is heard too.
    world.trust();
    talk.settle("c.txt");
    let said = talk.end();
    assert!(world.path("profile/ran-the-script").exists(), "{said:?}");
    assert!(said.err.contains("this profile is not trusted yet"), "{said:?}");
}

#[test]
fn a_change_without_the_operators_leave_is_not_taken() {
    let world = World::new(&denying("denied-*"));
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    let server = json!({ "command": "touch", "args": ["started"] });
    for change in [
        json!({ "mcpServers": { "sneaky": server } }),
        json!({ "hooks": { "onStart": [{ "action": "webhook", "url": "https://evil.example/x" }] } }),
        json!({ "security": { "approvers": ["mallory"] } }),
        json!({ "hooks": { "onToolCall": [{ "action": "approve", "tools": ["termnal"] }] } }),
    ] {
        world.agent(&change);
        talk.say("write denied-1.txt: x");
        talk.settle("b.txt");
        std::fs::remove_file(world.path("b.txt")).unwrap();
    }
    let said = talk.end();
    assert_eq!(said.err.matches(KEPT).count(), 4, "{said:?}");
    assert!(!world.path("denied-1.txt").exists() && !world.path("profile/started").exists());
}

#[test]
fn a_prompt_that_changes_is_in_force_for_the_next_run() {
    let world = World::new(&json!({ "personality": "guide" }));
    world.write("profile/personalities/guide/SOUL.md", "You guide.");
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    world.write("profile/personalities/guide/SOUL.md", "You guide gently.");
    talk.settle("b.txt");
    world.write("profile/personalities/guide/config.json", "{ \"tool\": [] }");
    talk.settle("c.txt");
    let said = talk.end();
    assert!(said.err.contains(TAKEN) && said.err.contains(KEPT), "{said:?}");
}

/// Every command is asked about.
fn asking() -> Value {
    json!({ "hooks": { "onToolCall": [{ "action": "approve", "tools": ["terminal"] }] } })
}

// P3, R11.4: a run ends under the rules it began with; the next one has the new ones.
#[test]
fn a_guard_that_comes_while_a_question_is_open_holds_from_the_next_run_on() {
    let world = World::new(&asking());
    let mut talk = world.talk(&["--wait-for-approval"]);
    talk.say("run echo ran >> marker");
    let asked = world.pending();
    let deny = json!([{ "tool": "terminal", "kind": "shell", "deny": ["echo *"] }]);
    world.agent(&json!({ "policies": deny }));
    assert!(world.run(&["approvals", "approve", &id(&asked)]).ok);
    world.appears("marker");
    talk.say("run echo ran >> marker");
    talk.settle("a.txt");
    let said = talk.end();
    assert_eq!(world.read("marker"), "ran\n", "{said:?}");
    assert!(said.err.contains("denied by the rule"), "{said:?}");
}

// R11.6: what resumes after a crash is judged by the rules of today.
#[test]
fn a_guard_that_comes_after_a_crash_stops_what_was_only_asked_about() {
    let world = World::new(&asking());
    let mut talk = world.talk(&["--wait-for-approval"]);
    talk.say("run echo ran >> marker");
    let asked = world.pending();
    talk.child.kill().unwrap();
    talk.end();
    let deny = json!([{ "tool": "terminal", "kind": "shell", "deny": ["echo *"] }]);
    world.agent(&json!({ "policies": deny }));
    let answered = world.run(&["approvals", "approve", &id(&asked), "--profile", "profile"]);
    assert!(answered.out.contains("denied by the rule"), "{answered:?}");
    assert!(!world.path("marker").exists());
}

#[test]
fn an_approve_hook_that_goes_while_its_question_is_open_leaves_the_question_open() {
    let hook = json!({ "action": "approve", "tools": ["write_file"] });
    let world = World::new(&json!({ "hooks": { "onToolCall": [hook] } }));
    let mut talk = world.talk(&["--wait-for-approval"]);
    talk.say("write asked.txt: x");
    let asked = world.pending();
    world.agent(&json!({}));
    assert!(!world.path("asked.txt").exists());
    assert!(world.run(&["approvals", "deny", &id(&asked)]).ok);
    talk.settle("free.txt");
    let said = talk.end();
    assert!(!world.path("asked.txt").exists() && said.err.contains(TAKEN), "{said:?}");
}

// P6: what is told of the profile is told of the one that the next message meets.
#[test]
fn what_is_shown_and_chosen_in_a_chat_is_of_the_profile_as_it_is_now() {
    let world = World::new(&json!({ "personalities": { "one": { "prompt": "One." } } }));
    let mut talk = world.talk(&[]);
    talk.settle("begun.txt");
    world.agent(&json!({
        "personality": "one",
        "personalities": { "one": { "prompt": "One." }, "two": { "prompt": "Two." } },
        "hooks": { "onToolCall": [{ "action": "log", "name": "newcomer" }] },
    }));
    talk.say("/personality two");
    talk.settle("as-two.txt");
    world.agent(&json!({ "nmae": "broken" }));
    talk.say("/hooks");
    talk.settle("still.txt");
    let said = talk.end();
    assert!(
        said.err.contains("`two` is active") && !said.err.contains("no personality"),
        "{said:?}"
    );
    for told in ["newcomer", "an older version is in force"] {
        assert!(said.out.contains(told), "{told}: {said:?}");
    }
    assert!(said.err.contains(KEPT), "{said:?}");
}

// An editor that writes in place is caught in the middle of it: at no length is half a file a profile.
#[test]
fn a_profile_that_is_only_half_written_is_not_taken() {
    let world = World::new(&denying("denied-*"));
    let whole = denying("forbidden-*").to_string();
    let mut talk = world.talk(&[]);
    talk.settle("begun.txt");
    for length in (0..whole.len()).step_by(9) {
        world.write("profile/agent.json", &whole[..length]);
        talk.say("write denied-1.txt: x");
        talk.settle(&format!("forbidden-{length}.txt"));
    }
    world.write("profile/agent.json", &whole);
    talk.say("write forbidden-1.txt: x");
    talk.settle("denied-2.txt");
    let said = talk.end();
    assert!(!world.path("denied-1.txt").exists() && !world.path("forbidden-1.txt").exists());
    assert_eq!(said.err.matches(TAKEN).count(), 1, "{said:?}");
}
