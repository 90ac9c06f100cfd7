//! What an editor says by schemas/agent.schema.json is what the reader says (R10.4).

use serde_json::{Value, json};

fn at(bucket: &str, action: Value) -> Value {
    json!({ "hooks": { bucket: [action] } })
}

fn call(action: Value) -> Value {
    at("onToolCall", action)
}

fn guard(rules: Value) -> Value {
    let mut guard = json!({ "tool": "terminal", "kind": "shell" });
    guard.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
    json!({ "policies": [guard] })
}

fn server(server: Value) -> Value {
    json!({ "mcpServers": { "a": server } })
}

/// What has another shape than a profile: an editor marks it.
fn misshapen() -> Vec<Value> {
    let command = |rest: Value| {
        let mut action = json!({ "action": "command" });
        action.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        call(action)
    };
    vec![
        json!([]),
        json!({ "name": null }),
        json!({ "nmae": "a" }),
        json!({ "personalities": { "a": { "tools": ["*"] } } }),
        json!({ "security": { "approvers": [] } }),
        json!({ "security": { "approvalTimeoutMs": 0 } }),
        json!({ "limits": { "maxTurns": 0 } }),
        json!({ "limits": { "maxTurns": 1.5 } }),
        json!({ "limits": { "maxTurns": 4_294_967_296_u64 } }),
        json!({ "limits": { "maxSeconds": 10_000_000_000_000_000_u64 } }),
        json!({ "limits": { "maxCostUsd": -1 } }),
        json!({ "limits": { "maxCostUsd": 1e300 } }),
        at("onStart", json!({ "action": "approve" })),
        at("onToolEnd", json!({ "action": "approve" })),
        at("onStart", json!({ "action": "log", "tools": ["*"] })),
        at("onModelEnd", json!({ "action": "save_json", "path": "x", "tools": ["*"] })),
        at("onToolcall", json!({ "action": "log" })),
        call(json!({ "action": "log", "level": "loud" })),
        call(json!({ "tools": ["*"] })),
        command(json!({})),
        command(json!({ "command": "true", "argv": ["true"] })),
        command(json!({ "argv": [] })),
        command(json!({ "command": "true", "timeoutMs": 0 })),
        command(json!({ "command": "true", "timeoutMs": 100_000_000_000_000_000_u64 })),
        json!({ "policies": [{ "tool": "mail", "kind": "json", "deny": ["to=x"] }] }),
        server(json!({})),
        server(json!({ "command": "x", "url": "https://x.example" })),
        server(json!({ "url": "https://x.example", "args": ["x"] })),
        command(json!({ "command": "true", "sandbox": "machine" })),
        command(json!({ "command": "true", "sandbox": true })),
        server(json!({ "command": "x", "zone": "external" })),
        server(json!({ "url": "https://x.example", "zone": "network" })),
        json!({ "sandbox": "build" }),
        json!({ "sandbox": { "write": ["x"] } }),
        // R10.11: what nothing serves.
        json!({ "channels": { "c": { "kind": "console" } } }),
        guard(json!({})),
        guard(json!({ "deny": [] })),
        guard(json!({ "allow": [], "deny": [] })),
    ]
}

/// What texts say, which is left to the reader.
fn badly_worded() -> Vec<Value> {
    let save = |path: &str| call(json!({ "action": "save_json", "path": path }));
    let post = |url: &str| call(json!({ "action": "webhook", "url": url }));
    let command = |rest: Value| {
        let mut action = json!({ "action": "command" });
        action.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        call(action)
    };
    vec![
        json!({ "name": "" }),
        json!({ "name": " " }),
        json!({ "name": "a\nb" }),
        json!({ "model": "" }),
        json!({ "personality": "" }),
        json!({ "personalities": { "": { "prompt": "a" } } }),
        json!({ "personalities": { "a": { "prompt": "a", "tools": [""] } } }),
        json!({ "tools": { "allow": [""] } }),
        json!({ "security": { "workspace": "" } }),
        json!({ "security": { "workspace": "/" } }),
        json!({ "security": { "workspace": ".." } }),
        json!({ "security": { "workspace": "~/x" } }),
        call(json!({ "action": "log", "name": "" })),
        call(json!({ "action": "log", "name": " \u{a0}" })),
        call(json!({ "action": "log", "tools": [""] })),
        command(json!({ "command": "" })),
        command(json!({ "argv": [""] })),
        save(""),
        save("/x.log"),
        save("~/x.log"),
        save("../x.log"),
        save("./../x.log"),
        save("logs.log/"),
        save("a\u{0}b.log"),
        save("a\u{200b}b.log"),
        save("agent.json"),
        save("./AGENT.json"),
        save("personalities/x/SOUL.txt"),
        save(".git/config.json"),
        save("./sub/.GIT/hooks/x.txt"),
        save("Makefile"),
        save("logs/.bashrc"),
        save("BUILD.SH"),
        save("x.JSONL.sh"),
        save(&format!("logs/{}.log", "a".repeat(256))),
        json!({ "personalities": { "a": { "prompt": "a\u{202e}b" } } }),
        json!({ "plugins": ["a\u{feff}"] }),
        json!({ "tools": { "deny": ["write_["] } }),
        command(json!({ "argv": ["/bin/true"] })),
        command(json!({ "argv": ["../x.sh"] })),
        command(json!({ "argv": ["~/x.sh"] })),
        command(json!({ "argv": ["true", "a\u{0}"] })),
        post("https://a:b@x.example"),
        post("https://a@x.example"),
        post("https://169.254.169.254/latest"),
        post("https://224.0.0.1:80"),
        post("https://metadata.google.internal"),
        server(json!({ "url": "http://0.0.0.0/" })),
        post("x"),
        post("ftp://x.example"),
        post("http://x.example/"),
        post("http://localhost.x.example/"),
        call(json!({ "action": "webhook", "url": "https://x.example", "secretEnv": "a-b" })),
        server(json!({ "command": "" })),
        server(json!({ "url": "ftp://x.example" })),
        server(json!({ "command": "x", "env": { "": "x" } })),
        json!({ "sandbox": { "protect": ["/etc"] } }),
        json!({ "sandbox": { "protect": ["a/../.."] } }),
        json!({ "sandbox": { "protect": ["*.tf"] } }),
        json!({ "sandbox": { "secrets": ["~/.env"] } }),
        json!({ "sandbox": { "secrets": [""] } }),
        json!({ "policies": [{ "tool": "", "kind": "shell", "deny": ["rm"] }] }),
    ]
}

fn right() -> Vec<Value> {
    let save = |path: &str| call(json!({ "action": "save_json", "path": path }));
    let post = |url: &str| call(json!({ "action": "webhook", "url": url }));
    vec![
        json!({}),
        json!({ "$schema": "", "name": "Ä agent 日本", "model": "offline" }),
        json!({ "personality": "a b", "personalities": { "a b": { "prompt": "two\nlines" } } }),
        json!({ "tools": { "allow": [], "deny": ["write_*"] }, "plugins": [] }),
        json!({ "plugins": ["notes"] }),
        json!({ "personalities": { "a": { "prompt": "a", "plugins": ["notes"] } } }),
        json!({ "security": { "workspace": ".", "approvers": ["operator"] } }),
        json!({ "limits": { "maxTurns": 4_294_967_295_u64, "maxCostUsd": 0, "maxSeconds": 1 } }),
        at("onStart", json!({ "action": "log", "name": "hello there" })),
        at("onToolEnd", json!({ "action": "log", "tools": ["*"] })),
        call(json!({ "action": "approve", "tools": ["write_*"] })),
        call(json!({ "action": "command", "argv": ["true", ""], "worker": true })),
        call(json!({ "action": "command", "command": "echo a\necho b", "timeoutMs": 1 })),
        save("x.json"),
        save("x.txt"),
        save("x.ndjson"),
        save("./logs/..x/a b.jsonl"),
        save("logs/../x.log"),
        save("...x.log"),
        save("logs/agent.json"),
        save("agent.json.jsonl"),
        save("personalities.jsonl"),
        save("agent.json/../x.jsonl"),
        save(".git/../x.jsonl"),
        save(".github/x.jsonl"),
        save("x.git/y.jsonl"),
        json!({ "personalities": { "a": { "prompt": "a\t\u{200d}b\r\nעברית\u{200f}" } } }),
        json!({ "tools": { "deny": ["write_[ab]", "[!a]*", "[[]x", "[]]", "a]"] } }),
        call(json!({ "action": "command", "argv": ["true", "/x", "~/y", "../z"] })),
        post("https://169.254.example.com"),
        post("https://metadata.example.com/@a"),
        post("https://0.0.0.0.example.com/a?b@c"),
        json!({ "policies": [{ "tool": "mail", "kind": "json", "deny": ["/to=x"] }] }),
        post("https://x.example"),
        post("HTTPS://x.example:8443/a?b=c"),
        post("http://localhost"),
        post("http://hooks.localhost:80/x"),
        post("http://127.0.0.1:9000/x"),
        post("http://[::1]:9000?x"),
        server(json!({ "command": "x", "args": [""], "env": { "A": "" } })),
        server(json!({ "url": "http://x.example/mcp" })),
        server(json!({ "command": "x", "env": { "A": "${A}", "B": "5 $" } })),
        json!({ "channels": {}, "personalities": { "a": { "prompt": "a", "plugins": [] } } }),
        call(json!({ "action": "command", "command": "true", "sandbox": "none" })),
        server(json!({ "command": "x", "zone": "safe" })),
        json!({ "sandbox": { "protect": ["infra", "a/..b"], "secrets": ["**/.env", ".env"] } }),
        guard(json!({ "allow": [], "deny": ["rm *"] })),
        guard(json!({ "allow": ["ls"] })),
    ]
}

fn check(documents: Vec<Value>, by_schema: bool, by_reader: bool) {
    let schema = crate::agent_schema();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for document in documents {
        std::fs::write(folder.path().join("agent.json"), document.to_string()).unwrap();
        let found = (validator.is_valid(&document), crate::load(folder.path()).is_ok());
        assert_eq!(found, (by_schema, by_reader), "by schema, by reader: {document}");
    }
}

#[test]
fn an_editor_marks_a_wrong_shape_and_leaves_texts_to_the_reader() {
    check(misshapen(), false, false);
    check(badly_worded(), true, false);
}

#[test]
fn what_the_reader_takes_an_editor_leaves_alone() {
    check(right(), true, true);
}
