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

/// The names under `Commands:`, or in the groups of the overview.
fn subcommands(help: &str) -> Vec<String> {
    if let Some((_, groups)) = help.split_once("Usage: pintle [OPTIONS] [COMMAND]\n\n") {
        let lines = groups.lines().take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.get(10..)?.split_whitespace().next());
        return names.map(str::to_string).collect();
    }
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
        if !command.is_empty() {
            let examples = examples(&text).len();
            assert!(
                examples >= 2,
                "`pintle {}` has {examples} examples:\n{text}",
                command.join(" ")
            );
            assert!(text.contains("\nSee also: "), "{text}");
        }
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

/// An id in an example, in place of one that nobody knows beforehand.
const SOME_ID: &str = "3f9c";

/// The lines under `Example:` or `Examples:`.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    lines.map_while(|line| line.strip_prefix("  ").map(str::to_string)).collect()
}

// §16: a newcomer pastes them, one after the other, in a folder that `pintle init` made.
#[test]
fn every_example_works_when_it_is_pasted() {
    let mut tried = 0;
    for (command, text) in all(&World::new()) {
        let world = World::new();
        assert_eq!(world.run(&["init"]).code, Some(0));
        for example in examples(&text) {
            // These need a gateway that runs, a message that it put aside, or a run in the skill queue: their own tests
            // have them.
            let elsewhere = [
                "pintle serve",
                "curl ",
                "pintle messages retry",
                "pintle skills show",
                "pintle skills drop",
            ];
            if elsewhere.iter().any(|start| example.starts_with(start)) {
                continue;
            }
            // Only a question that waits can be looked at and answered.
            let asking = example.contains(SOME_ID).then(|| {
                let asking = ["chat", "-q", "read /etc/passwd", "--wait-for-approval"];
                let asking = world.start(&asking);
                world.pending();
                let listed = world.run(&["approvals"]).out;
                let row = listed.lines().nth(1).unwrap();
                (asking, row.split_whitespace().next().unwrap().to_string())
            });
            let line = match &asking {
                Some((_, id)) => example.replace(SOME_ID, id),
                None => example.clone(),
            };
            let said = world.pasted(&line, &[]);
            if let Some((mut asking, _)) = asking {
                asking.kill().unwrap();
                asking.wait().unwrap();
                // Calls off what was only looked at: the next example has a question of its own.
                world.run(&["chat", "-q", "list ."]);
            }
            tried += 1;
            if example.starts_with("pintle explain") || example.starts_with("pintle hooks explain")
            {
                assert!(matches!(said.code, Some(0 | 3 | 4)), "{example}: {said}");
                continue;
            }
            if example.contains("ANTHROPIC_API_KEY") {
                assert!(said.err.contains("set ANTHROPIC_API_KEY"), "{example}: {said}");
                continue;
            }
            assert_eq!(said.code, Some(0), "`pintle {}`: {example}\n{said}", command.join(" "));
        }
    }
    assert!(tried > 25, "the examples are found: {tried}");
}

#[test]
fn the_version_is_the_same_by_each_of_its_names() {
    let world = World::new();
    let version = format!("pintle {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [&["--version"][..], &["-V"], &["--json", "--version"]] {
        assert_eq!(world.run(arguments).out, version, "{arguments:?}");
    }
}
