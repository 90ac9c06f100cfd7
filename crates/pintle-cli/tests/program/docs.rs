//! The pages in docs/ are followed to the letter: files are written, commands run, and each page shows what really comes.
//!
//! A fenced block ` ```LANGUAGE FILE ` is a file. A block ` ```console ` has commands after `$ `, each with its output; `…` stands
//! for any text, and on a line of its own for any lines. `PINTLE_UPDATE=1` writes anew what no longer matches. The blocks of other
//! pages: `blocks`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::World;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn pages() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs")).unwrap();
    let mut pages: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension() == Some("md".as_ref()));
    pages.sort();
    pages
}

enum Part {
    Text(String),
    Block { info: String, body: String },
}

/// A page, line by line, and its fenced blocks.
pub(crate) struct Page {
    path: PathBuf,
    pub(crate) text: String,
    parts: Vec<Part>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut parts = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            parts.push(match line.strip_prefix("```") {
                None => Part::Text(format!("{line}\n")),
                Some(info) => {
                    let body = lines.by_ref().take_while(|line| *line != "```");
                    let body = body.map(|line| format!("{line}\n")).collect();
                    Part::Block { info: info.to_string(), body }
                }
            });
        }
        Self { path: path.to_path_buf(), text, parts }
    }

    pub(crate) fn blocks(&mut self) -> impl Iterator<Item = (&str, &mut String)> {
        self.parts.iter_mut().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Block { info, body } => Some((info.as_str(), body)),
        })
    }

    /// Compares the page with its changed blocks, or writes it.
    fn settle(&self) {
        let one = |part: &Part| match part {
            Part::Text(line) => line.clone(),
            Part::Block { info, body } => format!("```{info}\n{body}```\n"),
        };
        let should_be: String = self.parts.iter().map(one).collect();
        if std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1") {
            return fs::write(&self.path, should_be).unwrap();
        }
        let name = self.path.file_name().unwrap().display();
        let first = self.text.lines().zip(should_be.lines()).find(|(is, should)| is != should);
        assert!(
            self.text == should_be,
            "docs/{name} is out of date (PINTLE_UPDATE=1 mends it): {first:#?}\n{should_be}"
        );
    }
}

/// Whether a line is what a page shows, where `…` is any text.
fn fits_line(shown: &str, came: &str) -> bool {
    match shown.split_once('…') {
        None => shown == came,
        Some((start, rest)) => came.strip_prefix(start).is_some_and(|came| {
            came.char_indices()
                .map(|(at, _)| at)
                .chain([came.len()])
                .any(|at| fits_line(rest, &came[at..]))
        }),
    }
}

fn fits(shown: &[&str], came: &[&str]) -> bool {
    match (shown, came) {
        ([], came) => came.is_empty(),
        (["…", rest @ ..], came) => (0..=came.len()).any(|skipped| fits(rest, &came[skipped..])),
        ([_, ..], []) => false,
        ([line, rest @ ..], [first, more @ ..]) => fits_line(line, first) && fits(rest, more),
    }
}

/// Commands whose exit code is a verdict; every other one on a page succeeds.
const MAY_FAIL: [&str; 2] = ["pintle hooks fire ", "pintle tickets complete "];

/// Runs the commands of a block, and gives the block with what came where that is not what it shows.
fn follow(world: &World, exported: &mut String, body: &str) -> String {
    let mut block = String::new();
    for step in format!("\n{body}").split("\n$ ").skip(1) {
        let (command, shown) = step.split_once('\n').unwrap_or((step, ""));
        if command.starts_with("export ") {
            *exported += &format!("{command}\n");
        }
        let said = world.pasted(&format!("{exported}exec 2>&1\n{command}"), &[]);
        let may_fail = MAY_FAIL.iter().any(|start| command.starts_with(start));
        assert!(said.code == Some(0) || may_fail, "{command}: {said}");
        let came = said.out.replace(&world.file("").display().to_string(), "");
        let came: Vec<&str> = came.trim_end().lines().map(str::trim_end).collect();
        let shown: Vec<&str> = shown.trim_end().lines().collect();
        block += &format!("$ {command}\n");
        for line in if fits(&shown, &came) { shown } else { came } {
            block += &format!("{line}\n");
        }
    }
    block
}

#[test]
fn the_commands_of_each_page_do_what_the_page_shows() {
    let mut followed = 0;
    for path in pages() {
        let mut page = Page::read(&path);
        if !page.text.contains("\n```console\n") {
            continue;
        }
        followed += 1;
        let (world, mut exported) = (World::new(), String::new());
        for (info, body) in page.blocks() {
            match info.split_once(' ') {
                Some((_, file)) => world.write(file, body.as_bytes()),
                None if info == "console" => *body = follow(&world, &mut exported, body),
                None => {}
            }
        }
        page.settle();
    }
    assert!(followed > 0, "no page has commands");
}

/// Replaces what differs from run to run.
fn with_fixed_values(mut object: Value) -> Value {
    let id = |last| json!(format!("01a1ec52-1426-70db-9fd0-48a62e54cea{last}"));
    let fixed = [
        ("sessionId", id(1)),
        ("runId", id(2)),
        ("traceId", id(3)),
        ("sessionKey", json!("cli:my-agent")),
        ("ts", json!(1_794_966_164_908_u64)),
        ("durationMs", json!(12)),
        ("inputTokens", json!(331)),
    ];
    for (name, value) in fixed {
        if let Some(field) = object.get_mut(name) {
            assert_eq!(field.is_string(), value.is_string(), "{name}");
            *field = value;
        }
    }
    object
}

// R10.1: every bucket, with what its hook reads on stdin.
#[test]
fn the_page_on_input_shows_what_hooks_really_read() {
    let world = World::new();
    let events = [
        "onStart",
        "onPrompt",
        "onToolCall",
        "onToolEnd",
        "onModelCall",
        "onModelEnd",
        "onComplete",
        "onError",
    ];
    let hook = json!([{ "action": "command", "command": "cat > seen-$PINTLE_EVENT" }]);
    let hooks: serde_json::Map<_, _> =
        events.map(|name| (name.into(), hook.clone())).into_iter().collect();
    world.write("agent.json", json!({ "name": "my-agent", "hooks": hooks }).to_string());
    let failing = world.script(
        "failing.json",
        &json!([{ "error": { "code": "invalid_request", "retryable": false } }]),
    );
    let allowed = [("PINTLE_ALLOW_COMMAND_HOOKS", "1")];
    let failing = format!("pintle chat -q hi --model {failing} || rm seen-session.end");
    for line in ["pintle trust --accept", &failing, "pintle chat -q 'run echo hello'"] {
        let said = world.pasted(line, &allowed);
        assert_eq!(said.code, Some(0), "{line}: {said}");
    }
    let mut page = Page::read(&root().join("docs/hook-input-and-output.md"));
    let mut shown = 0;
    for (info, body) in page.blocks() {
        let Some(event) = info.strip_prefix("json ") else { continue };
        let seen = fs::read_to_string(world.file(&format!("seen-{event}"))).unwrap();
        let seen = with_fixed_values(serde_json::from_str(&seen).unwrap());
        *body = format!("{seen:#}\n");
        shown += 1;
    }
    assert_eq!(shown, events.len());
    page.settle();
}

// R6.6
#[test]
fn the_page_on_run_events_shows_a_real_run_and_names_every_type() {
    let world = World::new();
    let events = world.run(&["chat", "-q", "run echo hello", "--json"]).lines();
    let envelope = [
        "sessionId",
        "sessionKey",
        "runId",
        "turnIndex",
        "personalityId",
        "platform",
        "traceId",
        "ts",
    ];
    let mut lines = String::new();
    let mut page = Page::read(&root().join("docs/run-events.md"));
    for event in events {
        let kind = event["type"].as_str().unwrap();
        assert!(
            page.text.contains(&format!("| `{kind}` |")),
            "docs/run-events.md has no row for `{kind}`"
        );
        if ["text.delta", "prompt"].contains(&kind) {
            continue;
        }
        let mut event = with_fixed_values(event.clone());
        for name in envelope {
            event.as_object_mut().unwrap().remove(name);
        }
        for handler in event.get_mut("handlers").and_then(Value::as_array_mut).into_iter().flatten()
        {
            handler["durationMs"] = json!(0.1);
        }
        if let Some(tier) = event.get_mut("tier") {
            *tier = json!("full");
        }
        lines += &format!("{event}\n");
    }
    for (info, body) in page.blocks() {
        if info == "json run" {
            body.clone_from(&lines);
        }
    }
    page.settle();
}

/// The targets of a page's links and pictures, without those to other sites.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let between = |start: &'static str, end: char| {
        page.split(start).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
    };
    let targets = between("](", ')').chain(between("<img src=\"", '"'));
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

#[test]
fn every_file_of_docs_is_reached_from_the_readme_and_every_link_leads_somewhere() {
    let root = root();
    let mut reached = BTreeSet::new();
    let mut open = vec![root.join("README.md")];
    while let Some(path) = open.pop() {
        if !reached.insert(path.clone()) || path.extension() != Some("md".as_ref()) {
            continue;
        }
        let lines = Page::read(&path).parts.into_iter().filter_map(|part| match part {
            Part::Text(line) => Some(line),
            // Code has no links.
            Part::Block { .. } => None,
        });
        for link in links(&lines.collect::<String>()) {
            let target = path.parent().unwrap().join(link.split('#').next().unwrap());
            let target = target.canonicalize();
            let target = target
                .unwrap_or_else(|_| panic!("{}: the link `{link}` leads nowhere", path.display()));
            open.push(target);
        }
    }
    let mut open = vec![root.join("docs")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                // The words of a picture stand beside it.
                false if reached.contains(&path.with_extension("png")) => {}
                false => assert!(reached.contains(&path), "no link leads to {}", path.display()),
            }
        }
    }
}
