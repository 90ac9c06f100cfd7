//! R11.3, R17.4: everyday commands of a developer at the level `standard`, really run in a small project. At least nine of
//! ten run unasked and work; the table says which are asked about and why.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::World;

/// How many calls are made in one run: a run has a limit of its own.
const PER_RUN: usize = 30;

#[derive(Deserialize)]
struct Row {
    command: String,
    /// The zone that makes it a question.
    asks: Option<String>,
}

fn table() -> Vec<Row> {
    serde_json::from_str(include_str!("everyday.json")).unwrap()
}

/// A project with a little of everything.
fn project() -> World {
    let world = World::new();
    world.write("README.md", "# Everyday\n\nA project.\n");
    world.write("notes.txt", "notes\n");
    world.write(
        "Cargo.toml",
        "[package]\nname = \"everyday\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    world.write("src/lib.rs", "pub fn two() -> u32 {\n    2\n}\n\n#[test]\nfn two_is_two() {\n    assert_eq!(two(), 2);\n}\n");
    world.write("src/main.rs", "fn main() {\n    println!(\"{}\", everyday::two());\n}\n");
    let scripts = json!({ "test": "node index.js", "build": "node -e \"require('fs').writeFileSync('built.txt', 'x')\"" });
    let package = json!({ "name": "everyday", "version": "1.0.0", "scripts": scripts });
    world.write("package.json", package.to_string());
    world.write("index.js", "console.log('two');\n");
    world.write("script.py", "def two():\n    return 2\n\nprint(two())\n");
    world.write(
        "test_script.py",
        "import unittest, script\n\nclass Two(unittest.TestCase):\n    def test(self):\n        self.assertEqual(script.two(), 2)\n",
    );
    world.write(
        "Makefile",
        "all: hello\n\nhello: hello.c\n\tcc -o hello hello.c\n\ntest: hello\n\t./hello\n",
    );
    world.write("hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n");
    world.write("build.sh", "#!/bin/sh\nset -e\necho building > log.txt\n");
    world.write(".gitignore", "target\nenv\n");
    let setup = "git init -q && git config user.name Dev && git config user.email dev@example.org && git add -A && git commit -q -m Start";
    let made = Command::new("sh").args(["-c", setup]).current_dir(world.file("")).status().unwrap();
    assert!(made.success());
    world
}

/// What became of each command, by its place in the table.
fn outcomes(world: &World, commands: &[(usize, &str)]) -> BTreeMap<usize, Value> {
    let call = |(at, command): &(usize, &str)| {
        let call =
            json!({ "id": format!("t{at}"), "name": "terminal", "input": { "command": command } });
        json!({ "toolCalls": [call] })
    };
    let mut script: Vec<Value> = commands.iter().map(call).collect();
    script.push(json!({ "text": "done" }));
    let model = world.script("script.json", &json!(script));
    let mut chat = world.command(&["chat", "--json", "--new", "-q", "go", "--model", &model]);
    // Toolchains live in the real home folder.
    let chat =
        chat.env("HOME", std::env::var("HOME").unwrap()).env("USER", "dev").output().unwrap();
    let said = world.said(chat);
    let events = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = events.filter(|event| event["type"] == "tool.end");
    let at = |event: &Value| event["toolCallId"].as_str().unwrap()[1..].parse().unwrap();
    let outcomes: BTreeMap<usize, Value> = ended.map(|event| (at(&event), event)).collect();
    assert_eq!(outcomes.len(), commands.len(), "{} {}", said.out, said.err);
    outcomes
}

#[test]
fn nine_of_ten_everyday_commands_run_unasked_and_work() {
    let (world, rows) = (project(), table());
    let all: Vec<(usize, &str)> =
        rows.iter().enumerate().map(|(at, row)| (at, row.command.as_str())).collect();
    let outcomes: BTreeMap<usize, Value> =
        all.chunks(PER_RUN).flat_map(|some| outcomes(&world, some)).collect();
    let mut wrong = Vec::new();
    for (at, Row { command, asks }) in rows.iter().enumerate() {
        let end = &outcomes[&at];
        let fits = match asks {
            None => end["ok"] == true,
            Some(zone) => {
                let reason = end["error"].as_str().unwrap_or_default();
                let words = match zone.as_str() {
                    "network" => "it needs the network",
                    "machine" => "runs a command as another user",
                    other => panic!("{other} is not in the table"),
                };
                end["outcome"] == "rejected" && reason.contains(words)
            }
        };
        if !fits {
            wrong.push(format!("{command}: {}", end["error"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unasked = rows.iter().filter(|row| row.asks.is_none()).count();
    assert!(rows.len() >= 100 && unasked * 10 >= rows.len() * 9, "{unasked} of {}", rows.len());
}
