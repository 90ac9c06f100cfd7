//! What is wrong with a manifest, in words.

use pintle::Hooks;
use pintle_plugins::Manifest;
use serde_json::{Value, json};

/// A manifest of a process that observes, with some fields changed.
fn problems(changes: Value) -> Vec<String> {
    let mut manifest = json!({
        "id": "p", "version": "1", "apiVersion": 1, "kind": "process", "entry": ["p"],
        "points": ["agent_done"], "capabilities": ["observe"],
    });
    for (key, value) in changes.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    match Manifest::parse(&manifest.to_string()) {
        Ok(manifest) => manifest.problems(&Hooks::new()),
        Err(error) => error.0,
    }
}

// R13.3
#[test]
fn each_mistake_has_a_message_that_teaches() {
    assert_eq!(problems(json!({})), Vec::<String>::new());
    for (changes, part) in [
        (json!({ "id": "Weather!" }), "use lower-case letters"),
        (json!({ "apiVersion": 2 }), "use a newer pintle"),
        (json!({ "apiVersion": 0 }), "use a newer release of the plugin"),
        (json!({ "version": "" }), "such as `1.0.0`"),
        (json!({ "kind": "dll" }), "expected one of `native`, `process`, `wasm`"),
        (json!({ "entry": "p.py" }), "\"entry\": [\"python3\", \"plugin.py\"]"),
        (json!({ "kind": "wasm", "entry": "../up.wasm" }), "a file of its folder"),
        (json!({ "kind": "native" }), "remove `entry`"),
        (json!({ "capabilites": [] }), "unknown field `capabilites`"),
        (json!({ "capabilities": ["observ"] }), "did you mean `observe`?"),
        (json!({ "capabilities": ["observe", "network:https://x"] }), "without scheme"),
        (json!({ "capabilities": ["observe", "read:notes"] }), "an absolute path"),
        (json!({ "capabilities": ["observe", "zone:machine"] }), "`zone:workspace`"),
        (json!({ "capabilities": ["observe", "network:example.com"] }), "needs `zone:network`"),
        (json!({ "capabilities": ["observe", "zone:network"] }), "reaches no host"),
        (json!({ "capabilities": ["observe", "clock"] }), "remove `clock`"),
        (json!({ "capabilities": ["observe", "amend:nothing"] }), "no point has this name"),
        (
            json!({ "kind": "wasm", "entry": "p.wasm", "capabilities": ["observe", "network:a.com"] }),
            "use a process plugin",
        ),
        (json!({ "capabilities": [] }), "add `observe`"),
        (
            json!({ "points": ["before_prompt_build"], "capabilities": ["amend:message"] }),
            "`amend:prompt`",
        ),
        (json!({ "points": ["agent_done", "agent_done"] }), "listed twice"),
        (json!({ "points": [{ "point": "agent_done", "tools": ["x"] }] }), "not about a tool"),
        (json!({ "points": [{ "point": "agent_done", "timeout": 1 }] }), "unknown field `timeout`"),
        (json!({ "points": ["session.end"] }), "is a Gate point"),
        (
            json!({ "commands": [{ "name": "x", "description": "" }] }),
            "needs the capability `commands`",
        ),
        (json!({ "context": "x" }), "needs the capability `amend:prompt`"),
    ] {
        let found = problems(changes.clone());
        assert!(found.iter().any(|it| it.contains(part)), "{changes}: {found:?}");
    }
}
