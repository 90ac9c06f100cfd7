//! What the program makes of its environment and of where it is started.

use serde_json::Value;

use crate::support::World;

#[test]
fn an_empty_variable_counts_as_not_set() {
    let world = World::new();
    let empty = [
        "PINTLE_DATA",
        "PINTLE_MODEL",
        "PINTLE_ALLOW_COMMAND_HOOKS",
        "PINTLE_DISABLE_HOOKS",
        "PINTLE_WEBHOOK_ALLOWLIST",
        "OPENAI_BASE_URL",
        "TMPDIR",
        "XDG_DATA_HOME",
    ];
    for arguments in [&["chat", "-q", "list ."][..], &["demo", "--yes"], &["doctor"]] {
        let said = world.bare(arguments, &empty.map(|name| (name, "")));
        assert_eq!(said.code, Some(0), "{arguments:?} {said}");
        let left: Vec<_> = std::fs::read_dir(world.file("")).unwrap().collect();
        assert!(left.is_empty(), "{arguments:?} {left:?}");
    }
}

#[test]
fn an_empty_key_is_a_missing_one() {
    let world = World::new();
    let arguments = ["chat", "-q", "hello", "--model", "openai/gpt-5"];
    let unset = world.bare(&arguments, &[]);
    let empty = world.bare(&arguments, &[("OPENAI_API_KEY", "")]);
    assert_eq!((empty.code, &empty.err), (Some(1), &unset.err));
}

#[test]
fn the_demo_works_in_a_folder_that_is_gone() {
    let world = World::new();
    world.write("gone/file", "");
    let script =
        format!("cd gone && rm -r ../gone && exec {} demo --yes", env!("CARGO_BIN_EXE_pintle"));
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().envs(world.environment()).current_dir(world.file(""));
    let said = world.said(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.out.contains("0 ran unjudged"), "{said}");
}

// The first command of the README has to work without a key, a network or a home folder.
#[test]
fn the_first_command_of_the_readme_works_offline() {
    let readme = include_str!("../../../../README.md");
    let (_, after) =
        readme.split_once("```sh\ncargo install ").expect("it begins with the install");
    let typed = after.lines().nth(1).unwrap().split('#').next().unwrap().trim();
    let arguments = typed.strip_prefix("pintle ").expect(typed);
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    assert_eq!(arguments[0], "demo");
    let world = World::new();
    // A request would fail at this proxy.
    let nowhere =
        ["http_proxy", "https_proxy", "all_proxy"].map(|name| (name, "http://127.0.0.1:9"));
    let said = world.bare(&arguments, &nowhere);
    assert_eq!(said.code, Some(0), "{said}");
    for shown in ["blocked", "(--yes)", "0 ran unjudged"] {
        assert!(format!("{}{}", said.out, said.err).contains(shown), "{shown}: {said}");
    }
}

#[test]
fn a_question_may_begin_with_a_dash() {
    let world = World::new();
    let said = world.run(&["chat", "-q", "-5 plus 3"]);
    assert_eq!(said.code, Some(0), "{said}");
    let exported: Value = world.exported();
    assert_eq!(exported["messages"][0]["message"]["text"], "-5 plus 3");
}

#[test]
fn what_cannot_be_written_is_a_failure_and_said_to_be() {
    let world = World::new();
    assert_eq!(world.run(&["chat", "-q", "list .", "--session", "full"]).code, Some(0));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = world.command(&["sessions", "export", "full"]);
    let said = world.said(command.stdout(full).output().unwrap());
    assert_eq!(said.code, Some(1), "{said}");
    assert!(said.err.contains("cannot write to standard output"), "{said}");
    // Whoever has read enough is told nothing.
    let mut command = world.command(&["sessions", "export", "full"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let said = world.said(command.stdout(writer).output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said}");
}
