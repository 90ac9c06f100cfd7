//! What every test here needs: a world with a store and a workspace, a model that keeps what it was asked, and tools
//! that do what a test says.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use pintle::{Event, Hooks, Verdict, points::PersonalityConfig, points::SessionEnd};
use pintle_agent::{
    Agent, AgentBuilder, Ask, Containment, FinishReason, Llm, LlmError, LlmEvent, LlmRequest,
    LlmResponse, Message, PermittedCall, Personalities, Personality, Policy, Run, Session, Store,
    StoredMessage, Tool, ToolCall, ToolCx, ToolError, ToolSpec, canonical_json,
};
use pintle_llm::Scripted;
use pintle_policy::{Level, Zone};
use pintle_store::SqliteStore;
use pintle_tools::{Background, TerminalConfig, builtin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// A folder with a database and a workspace, a registry, and a model that plays a script.
pub(crate) struct World {
    /// Removed with it.
    _folder: TempDir,
    pub(crate) hooks: Hooks,
    pub(crate) llm: Arc<Recorded>,
    pub(crate) store: SqliteStore,
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
        let store = SqliteStore::open(folder.path().join("pintle.db")).await.unwrap();
        let containment = Containment::Off;
        let policy =
            Policy { level: Level::Permissive, containment, ..Policy::standard(workspace) };
        let personalities = Personalities::new(personality("main", None, None));
        Self { _folder: folder, hooks, llm: Recorded::new(script), store, policy, personalities }
    }

    /// The same place with another model and no handlers, as after a restart.
    pub(crate) fn again(self, script: Value) -> Self {
        Self { llm: Recorded::new(script), hooks: Hooks::new(), ..self }
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
            Arc::new(self.store.clone()),
            self.personalities.clone(),
            self.policy.clone(),
        )
        .tools(builtin(
            TerminalConfig {
                env: vec![("PATH".into(), "/usr/bin:/bin".into())],
                ..TerminalConfig::default()
            },
            &Background::default(),
        ))
    }

    pub(crate) fn agent(&self) -> Agent {
        self.builder().build().unwrap()
    }

    /// The newest session with a key of its own (not a sub-agent's).
    pub(crate) async fn session(&self) -> Session {
        let sessions = self.store.sessions().await.unwrap();
        sessions.into_iter().find(|session| session.parent.is_none()).expect("there is a session")
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
    let config = PersonalityConfig {
        prompt: format!("You are {id}."),
        tools: tools.map(owned),
        plugins: plugins.map(owned),
    };
    Personality::new(id, config).unwrap()
}

/// A script, and every request it was sent.
pub(crate) struct Recorded {
    script: Scripted,
    requests: Mutex<Vec<LlmRequest>>,
}

impl Recorded {
    pub(crate) fn new(script: Value) -> Arc<Self> {
        let script = Scripted::from_json("test", &script.to_string()).unwrap();
        Arc::new(Self { script, requests: Mutex::default() })
    }

    pub(crate) fn requests(&self) -> Vec<LlmRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The last request's last user message.
    pub(crate) fn user_text(&self, request: usize) -> String {
        last_user(&self.requests()[request].messages)
    }
}

pub(crate) fn last_user(messages: &[Message]) -> String {
    let user = messages.iter().rev().find_map(|message| match message {
        Message::User { text } => Some(text.clone()),
        _ => None,
    });
    user.expect("there is a user message")
}

impl Llm for Recorded {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        self.requests.lock().unwrap().push(request.clone());
        self.script.stream(request)
    }
}

type Body = dyn Fn(Value, ToolCx) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync;

/// A tool that does what a test says, and takes any arguments.
pub(crate) struct TestTool {
    spec: ToolSpec,
    body: Arc<Body>,
}

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
    let spec = ToolSpec {
        name: name.into(),
        description: "For a test.".into(),
        input_schema: json!({"type": "object"}),
    };
    Arc::new(TestTool { spec, body: Arc::new(move |args, cx| body(args, cx).boxed()) })
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn zone(&self) -> Zone {
        Zone::Safe
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        let (body, args) = (self.body.clone(), call.args().clone());
        async move { body(args, cx).await }.boxed()
    }
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
    rest(agent.run(Ask::new("cli:test", text))).await
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
                let Some(Message::ToolResults { results }) = history.get(place + 1) else {
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
        Message::ToolResults { results } => Some(results.clone()),
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

type Answer = dyn Fn(&LlmRequest) -> LlmResponse + Send + Sync;

/// A model that answers by the request alone, for many conversations at once.
pub(crate) struct Answering(Box<Answer>);

impl Answering {
    pub(crate) fn new(
        answer: impl Fn(&LlmRequest) -> LlmResponse + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self(Box::new(answer)))
    }
}

impl Llm for Answering {
    fn name(&self) -> &str {
        "answering"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let answer = (self.0)(&request);
        futures_util::stream::once(async { Ok(LlmEvent::End(answer)) }).boxed()
    }
}

pub(crate) fn answer(text: &str, tool_calls: Vec<ToolCall>) -> LlmResponse {
    LlmResponse {
        text: text.into(),
        tool_calls,
        usage: Default::default(),
        finish: FinishReason::EndTurn,
    }
}
