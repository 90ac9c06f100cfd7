//! Programs of a profile run only as somebody has seen them: hooks, and servers (R10.8, R10.9).

use std::{io::ErrorKind, net::TcpListener};

use serde_json::{Value, json};

use crate::support::World;

/// A server that leaves a file behind, and speaks no protocol.
fn server() -> Value {
    json!({ "mcpServers": { "files": { "command": "sh", "args": ["hooks/serve.sh"] } } })
}

#[test]
fn a_server_starts_only_as_it_was_trusted() {
    let world = World::new(&server()).allowing_programs();
    world.script("profile/hooks/serve.sh", "#!/bin/sh\ntouch started\n");
    let said = world.ask("list .");
    assert!(!said.ok && said.err.contains("not trusted: nobody has trusted"), "{said:?}");
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
    assert!(said.err.contains("`hooks/serve.sh` changed since it was trusted"), "{said:?}");
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
    assert!(said.out.contains("was not there when the profile was trusted"), "{said:?}");
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
    std::fs::rename(&script, world.path("elsewhere/check.sh")).unwrap();
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
    assert_eq!(said.out.matches("cannot be read: it leads out").count().min(1), 1, "{said:?}");
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
        assert!(said.out.contains("nothing changed"), "{name}: {said:?}");
    }
}
