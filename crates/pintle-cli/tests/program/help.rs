//! §16: every command has `--help` with an example.

use insta::assert_snapshot;

use crate::support::World;

fn help(world: &World, command: &[String]) -> String {
    let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    arguments.push("--help");
    let said = world.run(&arguments);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{command:?}");
    said.out
}

/// The names under `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_string).collect()
}

/// The program and all its commands, the innermost included.
fn all(world: &World) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let text = help(world, &command);
        open.extend(subcommands(&text).into_iter().rev().map(|name| {
            let mut inner = command.clone();
            inner.push(name);
            inner
        }));
        found.push((command, text));
    }
    found
}

#[test]
fn every_command_explains_itself_with_an_example_and_fits_a_terminal() {
    let world = World::new();
    let all = all(&world);
    assert!(all.len() > 12, "the commands are found: {}", all.len());
    for (command, text) in all {
        let example = text.lines().rev().take(8).any(|line| line.starts_with("  pintle "));
        assert!(example, "`pintle {}` has no example:\n{text}", command.join(" "));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{command:?}: {line}");
        }
        let name: Vec<&str> =
            ["pintle"].into_iter().chain(command.iter().map(String::as_str)).collect();
        assert_snapshot!(name.join("-"), text);
    }
}

#[test]
fn asking_for_help_leaves_no_trace() {
    let world = World::new();
    all(&world);
    assert!(!world.data().exists());
}
