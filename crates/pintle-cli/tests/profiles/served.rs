//! R10.11: what is accepted works; the rest is refused or told, never ignored.

use serde_json::json;

use crate::support::World;

/// A server that says what it was given, and speaks no protocol.
fn world() -> World {
    let server = json!({ "command": "sh", "args": ["hooks/serve.sh"], "env": { "KEY": "${FILES_KEY}", "MODE": "ro" } });
    let world = World::new(&json!({ "mcpServers": { "files": server } })).allowing_programs();
    world.script("profile/hooks/serve.sh", "#!/bin/sh\necho \"$KEY $MODE\" > ../given\n");
    world.trust();
    world
}

#[test]
fn a_server_gets_the_value_of_a_variable_that_its_entry_names() {
    let world = world().operator("FILES_KEY", "k-1234");
    world.ask("list .");
    assert_eq!(world.read("given"), "k-1234 ro\n");
}

#[test]
fn a_variable_that_is_not_set_is_told_by_lint_and_doctor_and_starts_nothing() {
    let world = world();
    let lint = world.run(&["hooks", "lint", "profile"]);
    let told = "FILES_KEY is not set: the MCP server `files` starts only when it is";
    assert!(lint.ok && lint.out.contains(told), "{lint:?}");
    let doctor = world.run(&["doctor", "--profile", "profile"]);
    assert!(
        !doctor.ok && doctor.out.contains("needs the environment variable FILES_KEY"),
        "{doctor:?}"
    );
    assert!(!world.ask("list .").ok && !world.path("given").exists());
}

/// R10.11: a channel's secret is named, never written, and a variable that is not set is told of.
#[test]
fn a_channels_token_is_a_variable_and_lint_and_doctor_say_when_it_is_not_set() {
    let telegram = |token: &str| json!({ "channels": { "telegram": { "token": token } } });
    let written = World::new(&telegram("42:secret"));
    let said = written.run(&["hooks", "lint", "profile"]);
    assert!(!said.ok && said.err.contains("a secret is named here, not written"), "{said:?}");
    let named = World::new(&telegram("${NO_SUCH_BOT_TOKEN}"));
    for command in [&["hooks", "lint", "profile"][..], &["doctor", "--profile", "profile"]] {
        let said = named.run(command);
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("NO_SUCH_BOT_TOKEN is not set"), "{said:?}");
    }
    assert!(named.ask("list .").ok, "the profile is served without its channel");
}
