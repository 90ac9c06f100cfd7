//! The names that programs of others read: from the schemas, and from samples of what has none.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::Arc,
    thread,
    time::Duration,
};

use pintle::{
    Cx, Event, Failure, HandlerOutcome, HandlerRecord, Hooks, ModelKind,
    points::{BeforeToolCall, CompactionReason, LlmUsage, ToolCallPatch, ToolOutcome, Untrusted},
};
use pintle_agent::{
    CallMade, CallVerdict, Finding, JudgedCall, JudgedStep, PromptPart, RunEventKind, RunOutcome,
    SandboxUse,
};
use pintle_exec::{
    CommandHook, CommandSpec, WebhookOptions, WebhookQueue, WebhookSpec, Worker, WorkerSpec,
};
use pintle_sandbox::{Grant, HostUse, ProtectedChange, ProtectedChangeKind, Refused, Unconfined};
use serde_json::{Value, json};

use super::{files, read, root};

/// Every name that a schema gives to a field, as `FILE: name`.
fn names_in(file: &str, schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let ("properties", Value::Object(properties)) = (key.as_str(), value) {
                    names.extend(properties.keys().map(|name| format!("{file}: {name}")));
                }
                names_in(file, value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names_in(file, item, names)),
        _ => {}
    }
}

/// A name on the wire is a promise: adding one is a line in this list, removing one breaks programs that others wrote.
#[test]
fn the_names_on_the_wire_are_the_ones_that_were_promised() {
    let mut names = BTreeSet::new();
    sent_to_hooks(&mut names);
    run_events(&mut names);
    for file in files().filter(|path| path.starts_with("schemas/") && path.ends_with(".json")) {
        let schema = serde_json::from_str(&read(&file)).unwrap();
        names_in(
            file.trim_start_matches("schemas/").trim_end_matches(".json"),
            &schema,
            &mut names,
        );
    }
    assert!(names.len() > 100, "the schemas are found: {}", names.len());
    let list: String = names.iter().map(|name| format!("{name}\n")).collect();
    let path = root().join("schemas/wire-names.txt");
    if std::env::var_os("PINTLE_UPDATE").is_some() {
        fs::write(&path, &list).unwrap();
    }
    let promised = fs::read_to_string(&path).unwrap_or_default();
    let differ: Vec<&str> = {
        let (now, then): (BTreeSet<_>, BTreeSet<_>) =
            (list.lines().collect(), promised.lines().collect());
        now.symmetric_difference(&then).copied().collect()
    };
    assert!(
        differ.is_empty(),
        "these names changed (`cargo xtask update` writes the list): {differ:#?}"
    );
}

/// Every name in a sample, as `FILE: name`.
fn names_of(file: &str, sample: &Value, names: &mut BTreeSet<String>) {
    match sample {
        Value::Object(fields) => {
            for (name, value) in fields {
                names.insert(format!("{file}: {name}"));
                names_of(file, value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names_of(file, item, names)),
        _ => {}
    }
}

/// What a command, a worker and a webhook get, beside the payload and the envelope, which the schemas have.
fn sent_to_hooks(names: &mut BTreeSet<String>) {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let request = thread::spawn(move || body_of_one_request(&listener));

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let hooks = Hooks::new();
    let sets = |_: Event<BeforeToolCall>| Some(ToolCallPatch::default().args(json!("ls")));
    hooks.named("first").register_modifying(sets).unwrap();
    let spec = |line: &str| CommandSpec::shell(folder.path(), line, Unconfined::by("this test"));
    let command = CommandHook::new(spec("cat > command"));
    let worker = Worker::new(WorkerSpec::new(spec("head -n 1 > worker")));
    let queue = WebhookQueue::open(WebhookOptions::default()).unwrap();
    let webhook = queue.webhook(WebhookSpec::new(url, "profile")).unwrap();
    let options = || hooks.options().deadline(Duration::from_secs(60));
    let (point, model) = ("before_tool_call", ModelKind::Modifying);
    options().register_dyn(point, model, command).unwrap();
    options().register_dyn(point, model, worker).unwrap();
    options().register_dyn(point, model, webhook).unwrap();

    let body = runtime.block_on(async {
        hooks.fire_modifying(&Cx::test(), BeforeToolCall::default).await.unwrap();
        tokio::task::spawn_blocking(|| request.join().unwrap()).await.unwrap()
    });

    let schema = read("schemas/points/before_tool_call.payload.json");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut add = |file: &str, mut sample: Value| {
        let context = match sample.get_mut("context") {
            Some(context) => context,
            None => &mut sample,
        };
        let own = |name: &String| schema["properties"].get(name).is_none();
        let own: Vec<String> =
            context.as_object().unwrap().keys().filter(|name| own(name)).cloned().collect();
        *context = own.into_iter().map(|name| (name, Value::Null)).collect();
        names_of(file, &sample, names);
    };
    let written = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    add("hooks/command.stdin", serde_json::from_str(&written("command")).unwrap());
    add("hooks/worker.line", serde_json::from_str(&written("worker")).unwrap());
    add("hooks/webhook.body", serde_json::from_str(&body).unwrap());
}

fn body_of_one_request(listener: &TcpListener) -> String {
    let (mut socket, _) = listener.accept().unwrap();
    let mut request = BufReader::new(socket.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while request.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).unwrap();
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    String::from_utf8(body).unwrap()
}

/// A sample of each event of a run, with every optional field.
fn run_events(names: &mut BTreeSet<String>) {
    let samples = samples();
    let mut types = BTreeSet::new();
    for sample in &samples {
        let sample = serde_json::to_value(sample).unwrap();
        let kind = sample["type"].as_str().unwrap();
        types.insert(kind.to_owned());
        names_of(&format!("events/{kind}"), &sample, names);
    }
    let source = read("crates/pintle-agent/src/event.rs");
    let declared = source.split("#[serde(rename = \"").skip(1);
    let declared = declared.map(|rest| rest.split('"').next().unwrap().to_owned());
    assert_eq!(types, declared.collect(), "one sample for each event");
}

fn samples() -> Vec<RunEventKind> {
    let text = String::new;
    let args = || json!("");
    let usage = LlmUsage::default().cache_read_tokens(1).cache_creation_tokens(1).cost_usd(1.0);
    let step = JudgedStep {
        step: "zone",
        finding: Finding::Asks,
        detail: text(),
        source: Some(text()),
        hook: Some(text()),
        shadow: true,
    };
    let judged =
        JudgedCall { verdict: CallVerdict::Ask, decided_by: Some(step.clone()), also: vec![step] };
    let failed = HandlerOutcome::Failed(Failure::errored(""));
    let mut handler = HandlerRecord::new("handler", failed, Duration::ZERO);
    handler.plugin = Some(Arc::from("plugin"));
    (handler.won, handler.lost) = (vec!["args"], vec!["args"]);
    (handler.notes, handler.shadow) = (vec![text()], true);
    let grants = || vec![Grant::Read("/".into()), Grant::Write("/".into()), Grant::Host(text())];
    let mut refused: Vec<Refused> = grants().into_iter().map(Refused::Grantable).collect();
    refused.extend([Refused::Secret("/".into()), Refused::Outside("/".into()), Refused::Network]);
    let kind = ProtectedChangeKind::PutRight;
    let held = SandboxUse {
        zone: "build",
        tier: "full",
        hosts: vec![HostUse { host: text(), allowed: true }],
        refused,
        changed: vec![ProtectedChange { path: "/".into(), kind }],
    };
    vec![
        RunEventKind::RunStart { model: text(), prompt: text() },
        RunEventKind::Prompt {
            parts: vec![PromptPart { part: "memory", by: text(), text: text() }],
        },
        RunEventKind::TextDelta { text: text() },
        RunEventKind::ToolCalls {
            calls: vec![CallMade { tool_call_id: text(), tool_name: text(), args: args() }],
            text: "text".into(),
        },
        RunEventKind::Judged {
            tool_call_id: text(),
            tool_name: text(),
            args: args(),
            grants: grants(),
            ancestors: vec![text()],
            untrusted: Some(Untrusted::default().suspicion("")),
            judged,
        },
        RunEventKind::ToolStart { tool_call_id: text(), tool_name: text(), args: args() },
        RunEventKind::ToolProgress { tool_call_id: text(), text: text() },
        RunEventKind::ToolEnd {
            tool_call_id: text(),
            tool_name: text(),
            ok: true,
            outcome: ToolOutcome::Ok,
            content: Some(text()),
            error: Some(text()),
            duration_ms: 0,
            untrusted: Some(text()),
        },
        RunEventKind::Sandbox { tool_call_id: text(), held },
        RunEventKind::HookFired {
            point: "tool.pre",
            model: ModelKind::Gate,
            handlers: vec![handler],
            tool_call_id: Some(text()),
        },
        RunEventKind::HookBlocked {
            point: "tool.pre",
            handler: text(),
            reason: text(),
            tool_call_id: Some(text()),
        },
        RunEventKind::ApprovalRequested {
            approval_id: text(),
            tool_call_id: text(),
            tool_name: text(),
            args: args(),
            args_hash: text(),
            zone: "machine",
            expires_at: 0,
        },
        RunEventKind::ApprovalResolved {
            approval_id: text(),
            outcome: text(),
            by: Some(text()),
            reason: Some(text()),
        },
        RunEventKind::Reminder { text: text() },
        RunEventKind::Usage { usage, duration_ms: 0 },
        RunEventKind::Compaction {
            reason: CompactionReason::Auto,
            kept_messages: 0,
            tokens_before: 0,
            tokens_after: 0,
            left_out: Some(0),
            problem: Some(text()),
        },
        RunEventKind::Retry { code: text(), message: text(), attempt: 0, attempts: 0, wait_ms: 0 },
        RunEventKind::Error { code: text(), message: text() },
        RunEventKind::Done { text: text(), outcome: RunOutcome::EndTurn },
    ]
}
