//! A gateway in memory, a channel that the test drives, and a model that answers from a closure.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use pintle::{
    FireRecord, Hooks, RecordSink,
    points::{InboundMessage, PersonalityConfig},
};
use pintle_agent::{
    Agent, Channel, ChannelError, ChannelFeatures, ChannelMessage, FinishReason, Inbox, Llm,
    LlmError, LlmEvent, LlmRequest, LlmResponse, Message, PermittedCall, Personalities,
    Personality, Policy, Received, SendError, Store, Tool, ToolCall, ToolCx, ToolError, ToolSpec,
    Zone,
    store::Queues,
    testing::{MemoryQueues, MemoryStore},
    unfenced,
};
use pintle_gateway::{
    ChannelSafety, Gateway, GatewayApprover, GatewayBuilder, GatewayConfig, SafetyRules,
};
use pintle_policy::Level;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) const PLATFORM: &str = "test";

/// Everything that a gateway of a test is made of.
pub(crate) struct World {
    pub(crate) hooks: Hooks,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queues: Arc<dyn Queues>,
    pub(crate) channel: Arc<TestChannel>,
    pub(crate) llm: Arc<dyn Llm>,
    pub(crate) tool_runs: Arc<AtomicUsize>,
    pub(crate) fired: Arc<Fired>,
    pub(crate) config: GatewayConfig,
    pub(crate) approvers: Vec<String>,
    pub(crate) rules: BTreeMap<String, SafetyRules>,
    pub(crate) approval_timeout: Duration,
    is_guarded: AtomicBool,
}

impl World {
    /// The model answers with what the closure makes of the newest message.
    pub(crate) fn new(answer: impl Fn(&LlmRequest) -> LlmResponse + Send + Sync + 'static) -> Self {
        let fired = Arc::new(Fired::default());
        Self {
            hooks: Hooks::builder().sink(fired.clone()).build(),
            store: Arc::new(MemoryStore::default()),
            queues: Arc::new(MemoryQueues::default()),
            channel: Arc::new(TestChannel::default()),
            llm: Arc::new(Answers(Box::new(answer))),
            tool_runs: Arc::default(),
            fired,
            config: GatewayConfig { lease: Duration::from_secs(5), ..GatewayConfig::default() },
            approvers: vec!["test:boss".into()],
            rules: BTreeMap::new(),
            approval_timeout: Duration::from_secs(600),
            is_guarded: AtomicBool::new(false),
        }
    }

    pub(crate) fn echo() -> Self {
        Self::new(|request| says(&format!("echo: {}", newest(request))))
    }

    pub(crate) fn builder(&self) -> GatewayBuilder {
        let personality = |id: &str, plugins: Option<Vec<String>>| {
            let mut config = PersonalityConfig::default().prompt(id);
            config.plugins = plugins;
            Personality::new(id, config).unwrap()
        };
        let personalities = Personalities::new(personality("main", None))
            .with(personality("coder", Some(vec!["linter".into()])));
        let mut policy = Policy::standard("/");
        policy.level = Level::Standard;
        policy.approval_timeout = self.approval_timeout;
        let approver = GatewayApprover::new(self.store.clone(), self.approvers.clone());
        let runs = self.tool_runs.clone();
        let agent = Agent::builder(
            self.hooks.clone(),
            self.llm.clone(),
            self.store.clone(),
            personalities,
            policy,
        )
        .approver(Arc::new(approver.clone()))
        .tools([Arc::new(Deploy { runs }) as Arc<dyn Tool>, Arc::new(Peek)])
        .build()
        .unwrap();
        if !self.is_guarded.swap(true, Ordering::SeqCst) {
            let safety = ChannelSafety::new(self.rules.clone(), self.queues.clone());
            safety.register(&self.hooks).unwrap();
        }
        Gateway::builder(agent, self.store.clone(), self.queues.clone(), approver)
            .config(self.config.clone())
            .channel(self.channel.clone())
    }

    pub(crate) async fn start(&self) -> Gateway {
        self.builder().start().await.unwrap()
    }
}

/// A tool that needs an approval at the level `standard`: it reaches another machine.
struct Deploy {
    runs: Arc<AtomicUsize>,
}

impl Tool for Deploy {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object", "properties": { "to": { "type": "string" } } });
        ToolSpec::new("deploy", "Deploys.", schema)
    }

    fn run(&self, _: PermittedCall, _: ToolCx) -> BoxFuture<'static, Result<String, ToolError>> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok("deployed".to_string())).boxed()
    }
}

/// A tool that runs unasked and names a path.
struct Peek;

impl Tool for Peek {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        ToolSpec::new("peek", "Looks.", schema).in_zone(Zone::Safe).with_paths(["path"])
    }

    fn run(&self, _: PermittedCall, _: ToolCx) -> BoxFuture<'static, Result<String, ToolError>> {
        std::future::ready(Ok("seen".to_string())).boxed()
    }
}

struct Answers(Box<dyn Fn(&LlmRequest) -> LlmResponse + Send + Sync>);

impl Llm for Answers {
    fn name(&self) -> &str {
        "closure"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let response = (self.0)(&request);
        let text = LlmEvent::TextDelta(response.text.clone());
        stream::iter([Ok(text), Ok(LlmEvent::End(response))]).boxed()
    }
}

pub(crate) fn says(text: &str) -> LlmResponse {
    LlmResponse {
        text: text.into(),
        tool_calls: Vec::new(),
        usage: Default::default(),
        finish: FinishReason::EndTurn,
    }
}

/// Asks for the tool `deploy` when a message says so, and then says what came of it.
pub(crate) fn deploys(request: &LlmRequest) -> LlmResponse {
    match request.messages.last() {
        Some(Message::User { text, .. }) if text.contains("deploy") => LlmResponse {
            tool_calls: vec![
                ToolCall::default()
                    .id("call-1")
                    .name("deploy")
                    .input(json!({ "to": "production" })),
            ],
            finish: FinishReason::ToolUse,
            ..says("")
        },
        Some(Message::ToolResults { results, .. }) => {
            says(&format!("tool: {}", unfenced(&results[0].content)))
        }
        _ => says(&format!("echo: {}", newest(request))),
    }
}

pub(crate) fn newest(request: &LlmRequest) -> String {
    match request.messages.last() {
        Some(Message::User { text, .. }) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// The points that fired, in order.
#[derive(Default)]
pub(crate) struct Fired(Mutex<Vec<String>>);

impl RecordSink for Fired {
    fn record(&self, record: Arc<FireRecord>) {
        self.0.lock().unwrap().push(record.point.to_string());
    }
}

impl Fired {
    pub(crate) fn points(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

type Script = VecDeque<Result<(), SendError>>;

/// A channel whose messages the test says, and which keeps what is sent.
pub(crate) struct TestChannel {
    pub(crate) inbox: Mutex<Option<Arc<dyn Inbox>>>,
    pub(crate) sent: Mutex<Vec<ChannelMessage>>,
    pub(crate) edited: Mutex<Vec<(String, String, String)>>,
    pub(crate) features: Mutex<ChannelFeatures>,
    pub(crate) results: Mutex<Script>,
    changed: Notify,
}

impl Default for TestChannel {
    fn default() -> Self {
        let features = ChannelFeatures {
            buttons: true,
            private_chat_is_sender: true,
            ..ChannelFeatures::default()
        };
        Self {
            inbox: Mutex::default(),
            sent: Mutex::default(),
            edited: Mutex::default(),
            features: Mutex::new(features),
            results: Mutex::default(),
            changed: Notify::new(),
        }
    }
}

impl TestChannel {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.sent.lock().unwrap().iter().map(|sent| sent.text.clone()).collect()
    }

    pub(crate) fn texts_to(&self, chat: &str) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|sent| sent.chat_id == chat).map(|sent| sent.text.clone()).collect()
    }

    /// Waits until what was sent is as the test wants it.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds(self) {
                    return;
                }
                let _ = tokio::time::timeout(Duration::from_millis(100), changed).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "{what}; sent so far: {:#?}", self.texts());
    }
}

impl Channel for TestChannel {
    fn platform(&self) -> &str {
        PLATFORM
    }

    fn features(&self) -> ChannelFeatures {
        *self.features.lock().unwrap()
    }

    fn receive(
        &self,
        inbox: Arc<dyn Inbox>,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<(), ChannelError>> {
        *self.inbox.lock().unwrap() = Some(inbox);
        async move {
            stop.cancelled().await;
            Ok(())
        }
        .boxed()
    }

    fn send(&self, message: ChannelMessage) -> BoxFuture<'_, Result<Option<String>, SendError>> {
        let result = self.results.lock().unwrap().pop_front().unwrap_or(Ok(()));
        let mut sent = self.sent.lock().unwrap();
        let id = format!("m{}", sent.len());
        // What may have arrived did arrive here.
        if matches!(result, Ok(()) | Err(SendError::Unknown(_))) {
            sent.push(message);
        }
        drop(sent);
        self.changed.notify_waiters();
        std::future::ready(result.map(|()| Some(id))).boxed()
    }

    fn edit(&self, chat: &str, id: &str, text: &str) -> BoxFuture<'_, Result<(), SendError>> {
        self.edited.lock().unwrap().push((chat.into(), id.into(), text.into()));
        self.changed.notify_waiters();
        std::future::ready(Ok(())).boxed()
    }
}

pub(crate) fn message(chat: &str, id: &str, sender: &str, text: &str) -> InboundMessage {
    serde_json::from_value(json!({
        "id": id, "platform": PLATFORM, "chatId": chat, "sender": { "id": sender },
        "text": text, "isDirect": true, "mentionsAgent": true,
    }))
    .unwrap()
}

pub(crate) async fn say(gateway: &Gateway, chat: &str, id: &str, text: &str) -> Received {
    gateway.receive(message(chat, id, "ann", text), None).await.unwrap()
}

pub(crate) fn value(of: impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}
