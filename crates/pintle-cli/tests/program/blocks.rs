//! No fenced block of docs/ and the README is only text: each is run, loaded or compared. The pages with commands: `docs`.

use std::{collections::BTreeSet, fs};

use pintle::points::LlmUsage;
use pintle_agent::{RunEventKind, RunOutcome};
use serde_json::{Value, json};

use crate::{
    docs::{Page, pages, root},
    serving::Served,
    support::World,
};

/// Blocks that another test runs or compares: the page, what the block begins with, and the file of the test.
const ELSEWHERE: [(&str, &str, &str); 14] = [
    ("README.md", "sh", "crates/pintle-cli/tests/program/surroundings.rs"),
    ("embedding.md", "rust", "crates/pintle-bench/src/lib.rs"),
    ("gateway.md", "sh serve", HERE),
    ("gateway.md", "sh request", HERE),
    ("hook-input-and-output.md", "json ", DOCS),
    ("plugins.md", "js", "crates/pintle-wasm/tests/wasm/built.rs"),
    ("plugins.md", "python", "crates/pintle-wasm/tests/wasm/built.rs"),
    ("plugins.md", "rust", "crates/pintle-plugins/tests/plugins/native.rs"),
    ("plugins.md", "sh", "crates/pintle-wasm/tests/wasm/built.rs"),
    ("run-events.md", "json run", DOCS),
    ("webhooks.md", "json body", HERE),
    ("webhooks.md", "python", "crates/pintle-cli/tests/profiles/webhooks.rs"),
    ("why-does-my-handler-not-compile.md", "rust", "crates/pintle-bench/src/lib.rs"),
    ("why-does-my-handler-not-compile.md", "text", "crates/pintle/tests/compile_fail.rs"),
];

const HERE: &str = "crates/pintle-cli/tests/program/blocks.rs";
const DOCS: &str = "crates/pintle-cli/tests/program/docs.rs";

/// What the operator and the machine bring to the profiles of the pages.
const ALLOWED: [(&str, &str); 7] = [
    ("PINTLE_ALLOW_COMMAND_HOOKS", "1"),
    (
        "PINTLE_WEBHOOK_ALLOWLIST",
        "https://audit.example https://example.com https://api.telegram.org http://127.0.0.1:9000",
    ),
    ("AGENT_SECRET", "a"),
    ("AUDIT_SECRET", "b"),
    ("REPORT_KEY", "c"),
    ("TELEGRAM_SECRET", "d"),
    ("TELEGRAM_TOKEN", "1:e"),
];

/// Loads a profile beside the files that the pages name.
fn load_profile(text: &str) {
    let world = World::new();
    world.write("agent.json", text);
    for script in ["hooks/check.py", "hooks/check.sh", "tools/server.py"] {
        world.executable(script, "#!/bin/sh\n");
    }
    world.write("src/main.rs", "");
    let said = world.pasted("pintle hooks lint", &ALLOWED);
    assert_eq!(said.code, Some(0), "{text}\n{said}");
}

/// Loads the operator's file, with the profile that it names.
fn load_settings(text: &str) {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    fs::write(world.data().join("pintle.toml"), text).unwrap();
    world.write("../home/agents/shop/agent.json", r#"{ "name": "shop" }"#);
    let said = world.pasted("pintle trust ~/agents/shop --accept && pintle hooks list", &[]);
    assert_eq!(said.code, Some(0), "{text}\n{said}");
}

/// Runs commands after one run of a folder that `pintle init` made.
fn run_commands(text: &str) {
    let world = World::new();
    let said = world.pasted(&format!("set -e\npintle init\npintle chat -q 'list .'\n{text}"), &[]);
    assert_eq!(said.code, Some(0), "{text}\n{said}");
}

#[test]
fn every_block_of_each_page_is_run_or_loaded() {
    let mut elsewhere = BTreeSet::new();
    for path in pages().into_iter().chain([root().join("README.md")]) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let mut page = Page::read(&path);
        let followed = page.text.contains("\n```console\n");
        for (info, body) in page.blocks() {
            let is_it = |(page, start, _): &&(&str, &str, &str)| {
                *page == name && (*start == info || start.ends_with(' ') && info.starts_with(start))
            };
            if let Some((page, start, test)) = ELSEWHERE.iter().find(is_it) {
                let test = fs::read_to_string(root().join(test)).unwrap();
                assert!(test.contains(&name), "{page}: where is ```{start} tested?");
                elsewhere.insert((*page, *start));
                continue;
            }
            match info {
                "console" => {}
                _ if followed && info.contains(' ') => {}
                "json agent.json" => load_profile(body),
                "toml pintle.toml" => load_settings(body),
                "sh" => run_commands(body),
                _ => panic!("docs/{name}: no test runs or loads ```{info}\n{body}"),
            }
        }
    }
    let listed: BTreeSet<_> = ELSEWHERE.iter().map(|(page, start, _)| (*page, *start)).collect();
    assert_eq!(elsewhere, listed, "a listed block is gone");
}

// docs/gateway.md: the commands of its first minutes, with the address and the token of a gateway that runs.
#[test]
fn the_commands_of_the_page_on_the_gateway_are_answered() {
    let mut page = Page::read(&root().join("docs/gateway.md"));
    let world = World::new();
    let mut served = None;
    for (info, body) in page.blocks() {
        match info {
            "sh serve" => {
                let line = body.split('#').next().unwrap().trim();
                let arguments = line.strip_prefix("pintle serve").expect(line);
                served = Some(Served::start_as(
                    &world,
                    &arguments.split_whitespace().collect::<Vec<_>>(),
                ));
            }
            "sh request" => {
                let served = served.as_ref().expect("it is started before");
                let token = world.data().join("token").display().to_string();
                let request = body.replace("127.0.0.1:7437", &served.address);
                let request = request.replace("~/.local/share/pintle/token", &token);
                let said = world.pasted(&request.replace("curl ", "curl -sS "), &[]);
                let answer = said.json();
                assert_eq!(answer["outcome"], "end_turn", "{request}\n{said}");
                let names: Vec<_> = answer.as_object().unwrap().keys().collect();
                assert_eq!(names, ["runId", "reply", "outcome"]);
            }
            _ => {}
        }
    }
    served.expect("the page starts the gateway").kill();
}

// docs/webhooks.md: `save_json` writes the body that a webhook sends.
#[test]
fn the_page_on_webhooks_shows_the_fields_of_a_body() {
    let world = World::new();
    let hook = json!([{ "action": "save_json", "path": "bodies.jsonl" }]);
    world.write("agent.json", json!({ "hooks": { "onToolCall": hook } }).to_string());
    let said = world.pasted("pintle trust --accept && pintle chat -q 'run echo hello'", &[]);
    assert_eq!(said.code, Some(0), "{said}");
    let sent = fs::read_to_string(world.file("bodies.jsonl")).unwrap();
    let sent: Value = serde_json::from_str(sent.lines().next().unwrap()).unwrap();
    let mut page = Page::read(&root().join("docs/webhooks.md"));
    let (_, shown) = page.blocks().find(|(info, _)| *info == "json body").unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&shown), names(&sent));
    for field in ["v", "event"] {
        assert_eq!(shown[field], sent[field]);
    }
    assert_eq!(shown["context"]["toolName"], sent["context"]["toolName"]);
}

#[test]
fn the_page_on_embedding_shows_the_example_of_an_agent_with_a_guard_in_twenty_lines() {
    let example = root().join("crates/pintle-agent/examples/guarded_agent.rs");
    let example = fs::read_to_string(example).unwrap();
    let code = &example[example.find("use std::").unwrap()..];
    let page = Page::read(&root().join("docs/embedding.md"));
    assert!(page.text.contains(&format!("```rust\n{code}```\n")), "docs/embedding.md differs");
    let (_, body) = code.split_once("async fn main() -> Result<(), Box<dyn Error>> {\n").unwrap();
    assert!(body.lines().count() <= 21, "twenty lines and the brace:\n{body}");
}

// R6.6
#[test]
fn the_pages_name_every_outcome_of_a_run_and_every_field_of_usage() {
    let text = |page: &str| fs::read_to_string(root().join("docs").join(page)).unwrap();
    let (events, hooks) = (text("run-events.md"), text("hook-input-and-output.md"));
    let line = |page: &str, start: &str| {
        let line = page.lines().find(|line| line.contains(start));
        line.unwrap_or_else(|| panic!("{start}")).to_string()
    };
    // A new outcome does not compile until it has its place here.
    let after = |outcome| match outcome {
        RunOutcome::EndTurn => Some(RunOutcome::Aborted),
        RunOutcome::Aborted => Some(RunOutcome::MaxTurns),
        RunOutcome::MaxTurns => Some(RunOutcome::BudgetExceeded),
        RunOutcome::BudgetExceeded => Some(RunOutcome::MaxSeconds),
        RunOutcome::MaxSeconds => Some(RunOutcome::MaxToolCalls),
        RunOutcome::MaxToolCalls => Some(RunOutcome::RepeatedCalls),
        RunOutcome::RepeatedCalls => Some(RunOutcome::MaxTokens),
        RunOutcome::MaxTokens => Some(RunOutcome::Refusal),
        RunOutcome::Refusal => Some(RunOutcome::Error),
        RunOutcome::Error => None,
    };
    for outcome in std::iter::successors(Some(RunOutcome::EndTurn), |outcome| after(*outcome)) {
        let name = format!("`{}`", outcome.as_str());
        for (page, start) in [(&events, "- `outcome` of a run is"), (&hooks, "`reason` is")] {
            assert!(line(page, start).contains(&name), "no {name}: {}", line(page, start));
        }
    }
    let usage = LlmUsage::default().cache_read_tokens(1).cache_creation_tokens(1).cost_usd(1.0);
    let usage = RunEventKind::Usage { usage, duration_ms: 1 };
    let row = line(&events, "| `usage` |");
    for name in serde_json::to_value(usage).unwrap().as_object().unwrap().keys() {
        let field = format!("`{name}");
        assert!(name == "type" || row.contains(&field), "`usage` has no {name}: {row}");
    }
}
