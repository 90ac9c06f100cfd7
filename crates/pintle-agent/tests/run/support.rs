//! What every test here needs: a world with a store and a workspace, a model that keeps what it was asked, and tools
//! that do what a test says.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use pintle::{Event, Hooks, Verdict, points::PersonalityConfig, points::SessionEnd};
use pintle_agent::{
    Agent, AgentBuilder, Containment, FinishReason, Llm, LlmError, LlmUsage, Message,
    PermittedCall, Personalities, Personality, Policy, Run, RunRequest, Session, Store,
    StoredMessage, Tool, ToolCall, ToolCx, ToolError, ToolSpec, Zone, canonical_json,
    testing::{Answer, MemoryStore, ScriptedLlm, tool_fn},
};
use pintle_policy::Level;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// A workspace, a store in memory, a registry, and a model that plays a script.
pub(crate) struct World {
    /// Removed with it.
    _folder: TempDir,
    pub(crate) hooks: Hooks,
    pub(crate) llm: Arc<ScriptedLlm>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) policy: Policy,
    pub(crate) personalities: Personalities,
}

impl World {
    pub(crate) async fn new(script: Value) -> Self {
        Self::with_hooks(script, Hooks::new()).await
    }

    pub(crate) async fn with_hooks(script: Value, hooks: Hooks) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let (store, tools) = (Arc::new(MemoryStore::default()), stand_ins());
        let containment = Containment::Off;
        let policy =
            Policy { level: Level::Permissive, containment, ..Policy::standard(workspace) };
        let personalities = Personalities::new(personality("main", None, None));
        let llm = scripted(script);
        Self { _folder: folder, hooks, llm, store, tools, policy, personalities }
    }

    /// The same place with another model and no handlers, as after a restart.
    pub(crate) fn again(self, script: Value) -> Self {
        Self { llm: scripted(script), hooks: Hooks::new(), ..self }
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.policy.workspace
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.policy.workspace.join(name)
    }

    pub(crate) fn builder(&self) -> AgentBuilder {
        self.builder_with(self.llm.clone())
    }

    pub(crate) fn builder_with(&self, llm: Arc<dyn Llm>) -> AgentBuilder {
        Agent::builder(
            self.hooks.clone(),
            llm,
            self.store.clone(),
            self.personalities.clone(),
            self.policy.clone(),
        )
        .tools(self.tools.clone())
    }

    pub(crate) fn agent(&self) -> Agent {
        self.builder().build().unwrap()
    }

    /// The newest session with a key of its own (not a sub-agent's).
    pub(crate) async fn session(&self) -> Session {
        let sessions = self.store.sessions().await.unwrap();
        sessions.into_iter().find(|session| session.parent.is_none()).expect("there is a session")
    }

    /// The last user message of a request.
    pub(crate) fn user_text(&self, request: usize) -> String {
        last_user(&self.llm.requests()[request].messages)
    }

    /// The text of the last message of a request: the user's, or that of the last tool result.
    pub(crate) fn last_text(&self, request: usize) -> String {
        match self.llm.requests()[request].messages.last().expect("a request has a message") {
            Message::User { text, .. } | Message::Assistant { text, .. } => text.clone(),
            Message::ToolResults { results, .. } => results.last().unwrap().content.clone(),
        }
    }

    pub(crate) async fn history(&self) -> Vec<Message> {
        let stored = self.store.history(&self.session().await.id).await.unwrap();
        messages(stored)
    }
}

pub(crate) fn messages(stored: Vec<StoredMessage>) -> Vec<Message> {
    stored.into_iter().map(|stored| stored.message).collect()
}

pub(crate) fn personality(
    id: &str,
    tools: Option<&[&str]>,
    plugins: Option<&[&str]>,
) -> Personality {
    let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    let config = PersonalityConfig::default()
        .prompt(format!("You are {id}."))
        .tools(tools.map(owned))
        .plugins(plugins.map(owned));
    Personality::new(id, config).unwrap()
}

/// A model that plays a script: one element for each request, with `text`, `toolCalls`, `usage`, `finish`, `delayMs`,
/// `error` and `cut`.
pub(crate) fn scripted(script: Value) -> Arc<ScriptedLlm> {
    let answers = script.as_array().expect("a script is a list").iter().map(scripted_answer);
    Arc::new(ScriptedLlm::named("scripted:test", answers))
}

fn scripted_answer(step: &Value) -> Answer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let millis = |value: &Value| value.as_u64().map(Duration::from_millis);
    let answer = match &step["error"] {
        Value::Null if step["cut"] == true => Answer::cut(""),
        Value::Null => Answer::text(""),
        error => Answer::error(LlmError {
            code: text(&error["code"]),
            message: error["message"].as_str().unwrap_or("the script says so").to_string(),
            retryable: error["retryable"] == true,
            retry_after: millis(&error["retryAfterMs"]),
        }),
    };
    let call = |call: &Value| {
        ToolCall::default()
            .id(text(&call["id"]))
            .name(text(&call["name"]))
            .input(call.get("inputRaw").unwrap_or(&call["input"]).clone())
            .malformed(call.get("inputRaw").map(|_| "it is not JSON".to_string()))
    };
    let calls: Vec<_> = step["toolCalls"].as_array().into_iter().flatten().map(call).collect();
    let tokens = |field: &str| step["usage"][field].as_u64();
    let mut usage = LlmUsage::default();
    usage.input_tokens = tokens("inputTokens").unwrap_or(0);
    usage.output_tokens = tokens("outputTokens").unwrap_or(0);
    usage.cache_read_tokens = tokens("cacheReadTokens");
    usage.cache_creation_tokens = tokens("cacheCreationTokens");
    usage.cost_usd = step["usage"]["costUsd"].as_f64();
    let answer = answer
        .with_text(text(&step["text"]))
        .with_calls(calls)
        .with_usage(usage)
        .after(millis(&step["delayMs"]).unwrap_or_default());
    match step["finish"].as_str() {
        None => answer,
        Some("end_turn") => answer.finishing(FinishReason::EndTurn),
        Some("max_tokens") => answer.finishing(FinishReason::MaxTokens),
        Some("refusal") => answer.finishing(FinishReason::Refusal),
        Some(other) => panic!("there is no finish `{other}`"),
    }
}

pub(crate) fn last_user(messages: &[Message]) -> String {
    let user = messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(text.clone()),
        _ => None,
    });
    user.expect("there is a user message")
}

/// A tool that does what a test says, takes any arguments, and is zone `safe`.
pub(crate) fn tool<F, Fut>(name: &str, body: F) -> Arc<dyn Tool>
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    tool_with_cx(name, move |args, _| body(args))
}

pub(crate) fn tool_with_cx<F, Fut>(name: &str, body: F) -> Arc<dyn Tool>
where
    F: Fn(Value, ToolCx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let spec = ToolSpec::new(name, "For a test.", json!({"type": "object"})).in_zone(Zone::Safe);
    tool_fn(spec, move |call, cx| body(call.args().clone(), cx))
}

/// Stand-ins for the tools that every agent has. They do the same to files, with no care for hostile ones.
fn stand_ins() -> Vec<Arc<dyn Tool>> {
    fn schema(fields: &[&str]) -> Value {
        let properties: serde_json::Map<_, _> =
            fields.iter().map(|field| (field.to_string(), json!({"type": "string"}))).collect();
        json!({
            "type": "object", "properties": properties, "required": fields, "additionalProperties": false
        })
    }
    fn failed(error: std::io::Error) -> ToolError {
        ToolError::Failed(error.to_string())
    }
    fn text(call: &PermittedCall, field: &str) -> String {
        call.args()[field].as_str().unwrap().to_string()
    }
    fn place(call: &PermittedCall) -> Result<PathBuf, ToolError> {
        let real = call.reach().path("path").unwrap();
        real.map(Path::to_path_buf).map_err(|error| ToolError::Failed(error.to_string()))
    }
    let file = |name: &str, zone, fields: &[&str]| {
        ToolSpec::new(name, "For a test.", schema(fields)).in_zone(zone).with_paths(["path"])
    };
    let command = json!({
        "type": "object",
        "properties": {
            "command": {"type": "string"}, "cwd": {"type": "string"}, "timeoutMs": {"type": "integer"},
            "zone": {"enum": ["safe", "workspace", "build", "network", "machine"]}, "why": {"type": "string"}
        },
        "required": ["command"], "additionalProperties": false
    });
    let terminal =
        ToolSpec::new("terminal", "For a test.", command).in_zone(Zone::Build).running_commands();
    vec![
        tool_fn(terminal, async |call, cx| {
            call.confinement()?;
            if let Some(limit) = call.args().get("timeoutMs") {
                return Err(ToolError::TimedOut(format!("it took its time limit of {limit} ms")));
            }
            let mut shell = std::process::Command::new("/bin/sh");
            shell.arg("-c").arg(text(&call, "command")).current_dir(&*cx.workspace);
            let output = shell.output().map_err(failed)?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }),
        tool_fn(file("read_file", Zone::Safe, &["path"]), async |call, _| {
            let place = place(&call)?;
            let failed = |error| ToolError::Failed(format!("{}: {error}", place.display()));
            std::fs::read_to_string(&place).map_err(failed)
        }),
        tool_fn(file("write_file", Zone::Workspace, &["path", "content"]), async |call, _| {
            let (place, content) = (place(&call)?, text(&call, "content"));
            let known = if place.exists() { "" } else { "the new file " };
            let replaced = if place.exists() { ", replacing what was there" } else { "" };
            std::fs::create_dir_all(place.parent().unwrap()).map_err(failed)?;
            std::fs::write(place, &content).map_err(failed)?;
            Ok(format!(
                "wrote {} bytes to {known}`{}`{replaced}",
                content.len(),
                text(&call, "path")
            ))
        }),
        tool_fn(file("edit_file", Zone::Workspace, &["path", "old", "new"]), async |call, _| {
            let place = place(&call)?;
            let edited = std::fs::read_to_string(&place).map_err(failed)?;
            std::fs::write(place, edited.replacen(&text(&call, "old"), &text(&call, "new"), 1))
                .map_err(failed)?;
            Ok("edited".into())
        }),
        tool_fn(file("list_dir", Zone::Safe, &["path"]), async |call, _| {
            let entries = std::fs::read_dir(place(&call)?).map_err(failed)?;
            let mut names: Vec<_> =
                entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            Ok(if names.is_empty() { "[the folder is empty]".into() } else { names.join("\n") })
        }),
    ]
}

/// Somewhere a run gets stuck until it is dropped.
#[derive(Clone, Default)]
pub(crate) struct Swamp {
    reached: Arc<Notify>,
    left: Arc<AtomicBool>,
}

impl Swamp {
    /// Says that it was reached, and never returns.
    pub(crate) fn stuck<T>(&self) -> BoxFuture<'static, T> {
        struct Left(Arc<AtomicBool>);
        impl Drop for Left {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let (reached, left) = (self.reached.clone(), self.left.clone());
        async move {
            let _left = Left(left);
            reached.notify_one();
            std::future::pending().await
        }
        .boxed()
    }

    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Whether what was stuck has been dropped.
    pub(crate) fn left(&self) -> bool {
        self.left.load(Ordering::SeqCst)
    }
}

/// The reasons `session.end` was fired with.
#[derive(Clone, Default)]
pub(crate) struct Ends(Arc<Mutex<Vec<String>>>);

impl Ends {
    pub(crate) fn watch(hooks: &Hooks) -> Self {
        let ends = Self::default();
        let seen = ends.clone();
        let watch = move |event: Event<SessionEnd>| {
            seen.0.lock().unwrap().push(event.reason.clone());
            async { Verdict::allow() }
        };
        hooks.named("ends").register_gate(watch).unwrap();
        ends
    }

    pub(crate) fn reasons(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Plays a run to its end: its events as they are on the wire.
pub(crate) async fn play(agent: &Agent, text: &str) -> Vec<Value> {
    rest(agent.run(RunRequest::new("cli:test", text))).await
}

/// What a run still has to say.
pub(crate) async fn rest(mut run: Run) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(serde_json::to_value(&event).unwrap());
    }
    events
}

/// Reads events up to the first of this type.
pub(crate) async fn until(run: &mut Run, kind: &str) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(serde_json::to_value(&event).unwrap());
        if events.last().unwrap()["type"] == kind {
            return events;
        }
    }
    panic!("the run ended without {kind}: {events:#?}");
}

pub(crate) fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The text and outcome of the run's own `done`: the last one.
pub(crate) fn done(events: &[Value]) -> (String, String) {
    let done = of_type(events, "done");
    let done = done.last().expect("every run says done");
    (done["text"].as_str().unwrap().into(), done["outcome"].as_str().unwrap().into())
}

/// R6.1: every call of an assistant message has exactly one result, in order, in the message right after it.
pub(crate) fn assert_whole(history: &[Message]) {
    for (place, message) in history.iter().enumerate() {
        match message {
            Message::Assistant { tool_calls, .. } if !tool_calls.is_empty() => {
                let Some(Message::ToolResults { results, .. }) = history.get(place + 1) else {
                    panic!("calls without results at {place}: {history:#?}");
                };
                let asked: Vec<_> = tool_calls.iter().map(|call| &call.id).collect();
                let answered: Vec<_> = results.iter().map(|result| &result.tool_call_id).collect();
                assert_eq!(asked, answered);
            }
            Message::ToolResults { .. } => {
                let before = place.checked_sub(1).map(|before| &history[before]);
                let calls = matches!(before, Some(Message::Assistant { tool_calls, .. }) if !tool_calls.is_empty());
                assert!(calls, "results without calls at {place}: {history:#?}");
            }
            _ => {}
        }
    }
}

/// The results of the history's tool calls.
pub(crate) fn results(history: &[Message]) -> Vec<(String, bool, String)> {
    let results = history.iter().filter_map(|message| match message {
        Message::ToolResults { results, .. } => Some(results.clone()),
        _ => None,
    });
    results.flatten().map(|result| (result.tool_call_id, result.is_error, result.content)).collect()
}

/// One line per event: session, run, turn, type, and the event's own fields. What differs from run to run is named
/// instead, in the order it comes up.
pub(crate) fn readable(events: &[Value], workspace: &Path) -> String {
    let mut names = Names { workspace: workspace.display().to_string(), known: BTreeMap::new() };
    let mut lines = String::new();
    for event in events {
        let mut fields = event.as_object().unwrap().clone();
        let mut take = |field: &str| fields.remove(field).unwrap_or_default();
        let session = names.of("session", &take("sessionId"));
        let run = names.of("run", &take("runId"));
        let parent = take("parentSessionId");
        names.of("trace", &take("traceId"));
        let [kind, turn, _, _, _, _] =
            ["type", "turnIndex", "ts", "platform", "sessionKey", "personalityId"].map(&mut take);
        let parent = match parent {
            Value::Null => String::new(),
            parent => format!(" below {}", names.of("session", &parent)),
        };
        // Lines of the tests move.
        if let Some(by) = fields.get_mut("decidedBy") {
            by.as_object_mut().unwrap().remove("source");
        }
        let fields = canonical_json(&names.settled(Value::Object(fields)));
        let kind = kind.as_str().unwrap();
        lines.push_str(&format!("{session}{parent} {run} turn {turn}: {kind} {fields}\n"));
    }
    lines
}

struct Names {
    workspace: String,
    known: BTreeMap<String, String>,
}

impl Names {
    fn of(&mut self, what: &str, id: &Value) -> String {
        let Some(id) = id.as_str() else { return format!("no {what}") };
        let next = self.known.values().filter(|name| name.starts_with(what)).count() + 1;
        self.known.entry(id.to_string()).or_insert_with(|| format!("{what}-{next}")).clone()
    }

    fn settled(&mut self, value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let settle = |(key, value): (String, Value)| {
                    let value = match key.as_str() {
                        "durationMs" => json!("…"),
                        "expiresAt" => json!("…"),
                        "argsHash" => json!("…"),
                        "approvalId" => json!(self.of("approval", &value)),
                        _ => self.settled(value),
                    };
                    (key, value)
                };
                Value::Object(fields.into_iter().map(settle).collect())
            }
            Value::Array(items) => {
                items.into_iter().map(|item| self.settled(item)).collect::<Vec<_>>().into()
            }
            Value::String(text) => {
                let mut text = text.replace(&self.workspace, "WORKSPACE");
                // What a call names beside the workspace is in a folder with a random name too.
                let above = Path::new(&self.workspace).parent().map(|it| it.display().to_string());
                text = above.map_or(text.clone(), |above| text.replace(&above, "TEMP"));
                for (id, name) in &self.known {
                    text = text.replace(id, name);
                }
                Value::String(text)
            }
            other => other,
        }
    }
}

/// A model's answer that asks for tools.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Value {
    let calls =
        calls.iter().map(|(id, name, input)| json!({"id": id, "name": name, "input": input}));
    json!({"toolCalls": calls.collect::<Vec<_>>()})
}

pub(crate) fn says(text: &str) -> Value {
    json!({"text": text})
}

/// An answer that ends the turn, also when it asks for tools.
pub(crate) fn answer(text: &str, tool_calls: Vec<ToolCall>) -> Answer {
    Answer::text(text).with_calls(tool_calls).finishing(FinishReason::EndTurn)
}
